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
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
)

// Check reports every bad input at once. An unknown one, as in a first preview, is not rejected.
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

// rule checks one input; problem returns an empty text when the value is good.
type rule struct {
	property string
	problem  func(in jobs.Inputs, value property.Value) string
}

var digestPattern = regexp.MustCompile(`^([^@\s]+@)?sha256:[0-9a-f]{64}$`)

// rules holds a rule for each input that can be wrong.
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
		return fmt.Sprintf("%q is not an image by digest; allowed: [REPOSITORY@]sha256:<64 hexadecimal digits>; "+
			"next: raytrain image pin", in.ImageDigest)
	}},
	{"environment", checkEnvironment},
	{"startupSeconds", positive(func(in jobs.Inputs) int { return in.StartupSeconds })},
	{"deadlineSeconds", positive(func(in jobs.Inputs) int { return in.DeadlineSeconds })},
	{"evidenceDir", notEmpty(func(in jobs.Inputs) string { return in.EvidenceDir })},
	{"training", checkTraining},
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
			return fmt.Sprintf("%d is not allowed; allowed: 1 or more", value)
		}
		return ""
	}
}

// checkEnvironment refuses secrets, which Ray would show to everyone, and the gate's own variables.
func checkEnvironment(in jobs.Inputs, value property.Value) string {
	if value.HasSecrets() {
		return "must hold no secret: Ray shows a job's environment to anyone who may read jobs"
	}
	for name := range in.Environment {
		if strings.HasPrefix(name, "RAYTRAIN_") || strings.HasPrefix(name, "RAY_AUTH_") {
			return fmt.Sprintf("%q is reserved; allowed: NCCL_*, FI_* and the script's own variables", name)
		}
	}
	// NCCL compares the level without case.
	if level, set := in.Environment["NCCL_DEBUG"]; set && !slices.Contains([]string{"INFO", "TRACE"}, strings.ToUpper(level)) {
		return fmt.Sprintf("NCCL_DEBUG %q is not allowed; allowed: INFO, because the verdict is read from those lines", level)
	}
	if _, set := in.Environment["NCCL_DEBUG_SUBSYS"]; set {
		return "NCCL_DEBUG_SUBSYS is not allowed: it hides lines that the verdict needs; unset, NCCL prints them all"
	}
	return ""
}

// checkTraining finds, before anything is created, what the training code would refuse.
func checkTraining(in jobs.Inputs, _ property.Value) string {
	if err := in.Training.Validate(); err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return ""
}

// efaProvider is libfabric's name of the EFA provider.
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
		return fmt.Sprintf("gpusPerNode %d must be 1 or more, efaPerNode %d 0 or more", e.GPUsPerNode, e.EFAPerNode)
	case e.WorldSize != e.Nodes*e.GPUsPerNode:
		return fmt.Sprintf("worldSize %d is not allowed; nodes times gpusPerNode is %d",
			e.WorldSize, e.Nodes*e.GPUsPerNode)
	}
	return ""
}
