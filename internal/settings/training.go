package settings

import (
	"fmt"
	"regexp"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

var (
	storageForm = regexp.MustCompile(`^(/|[a-z0-9]+://).`)
	runNameForm = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)
)

// trainingFields are the settings of how the built-in training distributes, computes and saves.
func trainingFields() []Field {
	return []Field{
		{
			Key: "job.strategy", Type: String, Default: string(train.FSDP2),
			Description: "How the model is distributed: fsdp2, fsdp1 (Ray Train's prepare_model with torch's " +
				"size policy, for GPUs only) or ddp.",
			Allowed: fmt.Sprintf("one of %q", train.Strategies()),
			set:     oneOf(train.Strategies(), func(s *Settings) *train.Strategy { return &s.Job.Training.Strategy }),
		},
		{
			Key: "job.gradientCheckpointing", Type: Boolean, Default: "false",
			Description: "Whether the backward pass computes activations again, which saves memory.",
			Allowed:     "true or false",
			set:         boolean(func(s *Settings) *bool { return &s.Job.Training.GradientCheckpointing }),
		},
		{
			Key: "job.compile", Type: Boolean, Default: "false",
			Description: "Whether torch.compile compiles each layer. The first steps then take longer.",
			Allowed:     "true or false",
			set:         boolean(func(s *Settings) *bool { return &s.Job.Training.Compile }),
		},
		{
			Key: "job.checkpointEvery", Type: Integer, Default: "0",
			Description: "Steps between two checkpoints; 0 saves none.",
			Allowed:     "0 to 1000000",
			set:         between(0, 1000000, func(s *Settings) *int { return &s.Job.Training.CheckpointEvery }),
		},
		{
			Key: "job.storagePath", Type: String, Example: "s3://bucket/runs",
			Description: "Where checkpoints are stored: a folder that all nodes share, or a URI. " +
				"By default each node has its own folder, and checkpoints do not outlive it.",
			Allowed: "an absolute folder, or a URI such as s3://bucket/runs",
			set: optional(matching(storageForm,
				func(s *Settings) *string { return &s.Job.Training.StoragePath })),
		},
		{
			Key: "job.runName", Type: String, Example: "qwen-1",
			Description: "Name of the run in job.storagePath. A run continues at the last checkpoint of its " +
				"name. By default each attempt begins anew.",
			Allowed: "1 to 63 characters of a-z, 0-9 and -",
			set: optional(matching(runNameForm,
				func(s *Settings) *string { return &s.Job.Training.RunName })),
		},
		{
			Key: "job.maxFailures", Type: Integer, Default: "0",
			Description: "How often Ray Train may restart the ranks after a failure. The last attempt is " +
				"judged; what earlier ones did off EFA is a finding.",
			Allowed: "0 to 100",
			set:     between(0, 100, func(s *Settings) *int { return &s.Job.Training.MaxFailures }),
		},
	}
}

// strategyProblems reports FSDP1 without GPUs.
func strategyProblems(s Settings) Problems {
	if s.Job.Training.Strategy != train.FSDP1 || s.Job.Training.Device != train.CPU {
		return nil
	}
	return Problems{{
		Key: "job.strategy", Value: string(train.FSDP1), Cause: "FSDP1 exists for GPUs only, and job.device is cpu",
		Next: "pulumi config set --path job.strategy fsdp2",
	}}
}
