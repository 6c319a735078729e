package settings

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Job is the training job that the gate judges.
type Job struct {
	// Enabled is false to create the platform alone.
	Enabled bool
	// Training is what the job computes.
	Training train.Config
	// Entrypoint is the command of a script of the user's own; empty for the built-in training.
	Entrypoint string
	// WorkingDir is the local folder that Entrypoint runs in; empty for none.
	WorkingDir string
	// Pip is the local file with the Python packages of Entrypoint; empty for none.
	Pip string
	// StartupSeconds is how long nodes, devices and pods may take until they are ready for the job.
	StartupSeconds int
	// DeadlineSeconds is the job's time limit. At the limit the job is stopped and its evidence so
	// far is judged.
	DeadlineSeconds int
	// PendingSeconds is how long the job may wait for resources, NoProgressSeconds how long a
	// running job may show nothing new; 0 means until the deadline.
	PendingSeconds, NoProgressSeconds int
	// FailFast stops the job as soon as it can no longer become efa.
	FailFast bool
	// OnCancel is what happens to the running job when the update is canceled.
	OnCancel jobs.OnCancel
	// Environment overrides variables of the workers. An empty value removes one.
	Environment map[string]string
	// RequireEFACounters fails the gate if the EFA hardware counters cannot be read. Counters that
	// can be read must always reach a lower bound.
	RequireEFACounters bool
	// RequireFIInfo refuses the job unless fi_info finds EFA in every worker pod.
	RequireFIInfo bool
	// EvidenceDir is the local folder for reports.
	EvidenceDir string
}

func jobFields() []Field {
	return append([]Field{
		{
			Key: "job.enabled", Type: Boolean, Default: "true",
			Description: "Whether to run the training job. Without it the verdict is none.",
			Allowed:     "true or false",
			set:         boolean(func(s *Settings) *bool { return &s.Job.Enabled }),
		},
		{
			Key: "job.model", Type: String, Default: "Qwen/Qwen2.5-1.5B",
			Description: "Model architecture. The weights are random; nothing is downloaded.",
			Allowed:     fmt.Sprintf("one of %q", train.Models()),
			set:         oneOf(train.Models(), func(s *Settings) *string { return &s.Job.Training.Model }),
		},
		{
			Key: "job.device", Type: String, Default: string(train.CUDA),
			Description: "cuda, or cpu (gloo) for machines without GPUs.",
			Allowed:     fmt.Sprintf("one of %q", train.Devices()),
			set:         oneOf(train.Devices(), func(s *Settings) *train.Device { return &s.Job.Training.Device }),
		},
		{
			Key: "job.steps", Type: Integer, Default: "20",
			Description: "Optimizer steps.",
			Allowed:     "2 to 1000000; the first step is a warm-up",
			set:         between(2, 1000000, func(s *Settings) *int { return &s.Job.Training.Steps }),
		},
		{
			Key: "job.batchSize", Type: Integer, Default: "1",
			Description: "Sequences per rank and step.",
			Allowed:     "1 to 1024 sequences per rank",
			set:         between(1, 1024, func(s *Settings) *int { return &s.Job.Training.BatchSize }),
		},
		{
			Key: "job.sequenceLength", Type: Integer, Default: "512",
			Description: "Tokens per sequence.",
			Allowed:     "8 to 131072 tokens",
			set:         between(8, 131072, func(s *Settings) *int { return &s.Job.Training.SequenceLength }),
		},
		{
			Key: "job.entrypoint", Type: String, Example: "python train.py",
			Description: "Command of your own script, which runs on the Ray head instead of the built-in " +
				"training and is judged in the same way. Its ranks must be Ray workers.",
			Allowed: "a shell command, or empty for the built-in training",
			set:     optional(nonEmpty(func(s *Settings) *string { return &s.Job.Entrypoint })),
		},
		{
			Key: "job.workingDir", Type: String, Example: "train",
			Description: "Local folder with your own script. It is uploaded, and job.entrypoint runs in it. " +
				"A changed file runs the job again.",
			Allowed: "a folder, relative to the project or absolute, or empty if the image has the script",
			set:     optional(nonEmpty(func(s *Settings) *string { return &s.Job.WorkingDir })),
		},
		{
			Key: "job.pip", Type: String, Example: "requirements.txt",
			Description: "Local requirements file with the Python packages of your own script. Each node " +
				"installs them before the job. Each package must have a hash.",
			Allowed: "a file, relative to the project or absolute, or empty for the image's packages",
			set:     optional(nonEmpty(func(s *Settings) *string { return &s.Job.Pip })),
		},
		{
			Key: "job.startupSeconds", Type: Integer, Default: "1200",
			Description: "Seconds to wait until nodes, devices and pods are ready for the job.",
			Allowed:     "10 to 7200; pulling the image takes minutes",
			set:         between(10, 7200, func(s *Settings) *int { return &s.Job.StartupSeconds }),
		},
		{
			Key: "job.deadlineSeconds", Type: Integer, Default: "1800",
			Description: "Maximum run time in seconds. " +
				"At the deadline the job is stopped and its evidence so far is judged.",
			Allowed: "10 to 86400",
			set:     between(10, 86400, func(s *Settings) *int { return &s.Job.DeadlineSeconds }),
		},
		{
			Key: "job.pendingSeconds", Type: Integer, Default: "600",
			Description: "Maximum time in seconds that the job may wait for resources in Ray. Then it is " +
				"stopped. 0 means until the deadline.",
			Allowed: "0 to 86400",
			set:     between(0, 86400, func(s *Settings) *int { return &s.Job.PendingSeconds }),
		},
		{
			Key: "job.noProgressSeconds", Type: Integer, Default: "900",
			Description: "Maximum time in seconds without new evidence or a new step. Then the job is stopped " +
				"and its evidence so far is judged. 0 means until the deadline.",
			Allowed: "0 to 86400",
			set:     between(0, 86400, func(s *Settings) *int { return &s.Job.NoProgressSeconds }),
		},
		{
			Key: "job.failFast", Type: Boolean, Default: "true",
			Description: "Whether to stop the job as soon as its NCCL logs show that it can no longer become efa.",
			Allowed:     "true or false",
			set:         boolean(func(s *Settings) *bool { return &s.Job.FailFast }),
		},
		{
			Key: "job.onCancel", Type: String, Default: string(jobs.LeaveJob),
			Description: "What happens to the running job when an update is canceled: leave (the next update " +
				"continues with it) or stop.",
			Allowed: fmt.Sprintf("one of %q", jobs.OnCancels()),
			set:     oneOf(jobs.OnCancels(), func(s *Settings) *jobs.OnCancel { return &s.Job.OnCancel }),
		},
		{
			Key: "job.environment", Type: Object, Default: "{}", Example: "INFO",
			Description: "NCCL and libfabric variables that override the built-in ones (pulumi config set " +
				"--path --type string job.environment.NAME VALUE). An empty string removes a variable.",
			Allowed: "a map of variable names to strings; an empty string removes the variable",
			Member:  "job.environment.NCCL_DEBUG", MemberType: "string", set: setEnvironment,
		},
		{
			Key: "job.requireEfaCounters", Type: Boolean, Default: "false",
			Description: "Whether the gate fails when the EFA hardware counters cannot be read. " +
				"Counters that can be read must always reach a lower bound.",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.Job.RequireEFACounters }),
		},
		{
			Key: "job.requireFiInfo", Type: Boolean, Default: "false",
			Description: "Whether fi_info must find EFA in every worker pod before the job starts.",
			Allowed:     "true or false",
			set:         boolean(func(s *Settings) *bool { return &s.Job.RequireFIInfo }),
		},
		{
			Key: "job.evidenceDir", Type: String, Default: "evidence",
			Description: "Local folder for reports and raw logs.",
			Allowed:     "a folder, relative to the project or absolute",
			set:         nonEmpty(func(s *Settings) *string { return &s.Job.EvidenceDir }),
		},
	}, trainingFields()...)
}
