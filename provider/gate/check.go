package gate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
)

// Check reports all invalid inputs at once. Unknown inputs, as in a first preview, are accepted.
func (TrainingJob) Check(ctx context.Context, req infer.CheckRequest) (infer.CheckResponse[jobs.Inputs], error) {
	in, failures, err := infer.DefaultCheck[jobs.Inputs](ctx, req.NewInputs)
	if err != nil || len(failures) > 0 {
		return infer.CheckResponse[jobs.Inputs]{Inputs: in, Failures: failures}, err
	}
	if err := attempt.ValidateName(req.Name); err != nil {
		failures = append(failures, p.CheckFailure{Property: "", Reason: err.Error()})
	}
	for _, rule := range rules {
		value := req.NewInputs.Get(rule.property)
		if value.HasComputed() {
			continue
		}
		if reason := rule.problem(in, value); reason != "" {
			failures = append(failures, p.CheckFailure{Property: rule.property, Reason: reason})
		}
	}
	return infer.CheckResponse[jobs.Inputs]{Inputs: in, Failures: failures}, nil
}

// rule checks one input; problem returns an empty string if the value is valid.
type rule struct {
	property string
	problem  func(in jobs.Inputs, value property.Value) string
}

var digestPattern = regexp.MustCompile(`^([^@\s]+@)?sha256:[0-9a-f]{64}$`)

// rules holds a rule for each input that can be invalid.
//
//nolint:gochecknoglobals // a constant table; Go has no constant slices
var rules = []rule{
	{"kubeconfig", func(in jobs.Inputs, _ property.Value) string {
		if _, err := kube.Connect(in.Kubeconfig); err != nil {
			return err.Error()
		}
		return ""
	}},
	{"clusterName", notEmpty(func(in jobs.Inputs) string { return in.ClusterName })},
	{"namespace", notEmpty(func(in jobs.Inputs) string { return in.Namespace })},
	{"rayCluster", notEmpty(func(in jobs.Inputs) string { return in.RayCluster })},
	{"instanceType", notEmpty(func(in jobs.Inputs) string { return in.InstanceType })},
	{"imageDigest", func(in jobs.Inputs, _ property.Value) string {
		if digestPattern.MatchString(in.ImageDigest) {
			return ""
		}
		return fmt.Sprintf("%q is not an image digest; "+
			"allowed: [REPOSITORY@]sha256:<64 hexadecimal digits>; "+
			"next: raytrain image pin --stack STACK", in.ImageDigest)
	}},
	{"environment", checkEnvironment},
	{"startupSeconds", positive(func(in jobs.Inputs) int { return in.StartupSeconds })},
	{"deadlineSeconds", positive(func(in jobs.Inputs) int { return in.DeadlineSeconds })},
	{"pendingSeconds", notNegative(func(in jobs.Inputs) int { return in.PendingSeconds })},
	{"noProgressSeconds", notNegative(func(in jobs.Inputs) int { return in.NoProgressSeconds })},
	{"onCancel", func(in jobs.Inputs, _ property.Value) string {
		if in.OnCancel == "" || slices.Contains(jobs.OnCancels(), in.OnCancel) {
			return ""
		}
		return fmt.Sprintf("%q is not allowed; allowed: one of %q", in.OnCancel, jobs.OnCancels())
	}},
	{"evidenceDir", notEmpty(func(in jobs.Inputs) string { return in.EvidenceDir })},
	{"training", checkTraining},
	{"workingDir", checkWorkingDir},
	{"pip", checkPip},
	{"expectations", checkExpectations},
}

func notEmpty(get func(jobs.Inputs) string) func(jobs.Inputs, property.Value) string {
	return func(in jobs.Inputs, _ property.Value) string {
		if get(in) == "" {
			return "must not be empty"
		}
		return ""
	}
}

func positive(get func(jobs.Inputs) int) func(jobs.Inputs, property.Value) string {
	return func(in jobs.Inputs, _ property.Value) string {
		if value := get(in); value < 1 {
			return fmt.Sprintf("must be 1 or more, is %d", value)
		}
		return ""
	}
}

func notNegative(get func(jobs.Inputs) int) func(jobs.Inputs, property.Value) string {
	return func(in jobs.Inputs, _ property.Value) string {
		if value := get(in); value < 0 {
			return fmt.Sprintf("must be 0 or more, is %d", value)
		}
		return ""
	}
}

// checkEnvironment rejects secrets, which Ray would show to everyone, and the gate's own variables.
func checkEnvironment(in jobs.Inputs, value property.Value) string {
	if value.HasSecrets() {
		return "must not contain secrets: Ray shows a job's environment to everyone who can read jobs"
	}
	if err := script.CheckEnvironment(in.Environment); err != nil {
		return oneLine(err)
	}
	return ""
}

// oneLine returns the text of joined errors in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// checkTraining validates the training configuration before anything is created.
func checkTraining(in jobs.Inputs, _ property.Value) string {
	if in.Entrypoint != "" { // of a user's own script only the device is known
		if !slices.Contains(train.Devices(), in.Training.Device) {
			return fmt.Sprintf("device %q is not allowed; allowed: one of %q", in.Training.Device, train.Devices())
		}
		return ""
	}
	if err := in.Training.Validate(); err != nil {
		return oneLine(err)
	}
	return ""
}

// checkWorkingDir requires a folder and its digest together, and a command that uses them.
func checkWorkingDir(in jobs.Inputs, _ property.Value) string {
	switch {
	case in.WorkingDir != "" && in.Entrypoint == "":
		return "only an entrypoint uses it; next: set entrypoint, such as \"python train.py\""
	case (in.WorkingDir == "") != (in.WorkingDirDigest == ""):
		return "workingDirDigest must be set with workingDir; next: declare the job with NewTrainingJob, which sets it"
	}
	return ""
}

// checkPip requires packages with hashes, and a command that uses them.
func checkPip(in jobs.Inputs, value property.Value) string {
	switch err := script.CheckRequirements(in.Pip); {
	case value.HasSecrets():
		return "must not contain secrets: Ray shows a job's packages to everyone who can read jobs"
	case len(in.Pip) > 0 && in.Entrypoint == "":
		return "only an entrypoint uses it; next: set entrypoint, such as \"python train.py\""
	case err != nil:
		return oneLine(err)
	}
	return ""
}

// efaProvider is libfabric's name for its EFA provider.
const efaProvider = "efa"

func checkExpectations(in jobs.Inputs, _ property.Value) string {
	e := in.Expectations
	switch {
	case e.Provider != efaProvider:
		return fmt.Sprintf("provider %q is not allowed; allowed: %q", e.Provider, efaProvider)
	case e.Nodes < 2:
		return fmt.Sprintf("nodes %d is not allowed; allowed: 2 or more, "+
			"because one node has no traffic between nodes to judge", e.Nodes)
	case e.GPUsPerNode < 1 || e.EFAPerNode < 0:
		return fmt.Sprintf("gpusPerNode must be 1 or more (is %d), efaPerNode 0 or more (is %d)",
			e.GPUsPerNode, e.EFAPerNode)
	case e.WorldSize != e.Nodes*e.GPUsPerNode:
		return fmt.Sprintf("worldSize %d is not allowed; nodes times gpusPerNode is %d",
			e.WorldSize, e.Nodes*e.GPUsPerNode)
	}
	return ""
}
