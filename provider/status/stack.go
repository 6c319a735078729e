package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Target is the RayCluster to look at.
type Target struct {
	Kubeconfig, Namespace, RayCluster string
	// Stack is what the state of its Pulumi stack says; nil without a stack.
	Stack *Stack
}

// Stack is the part of a stack's state that a status shows.
type Stack struct {
	// Verdict is that of the training job; jobs.VerdictNone without one.
	Verdict      report.Verdict
	SubmissionID string
	// Refusal is why the last update was refused; nil if it passed.
	Refusal *refusal.Refusal
	// HourlyUSD is the price of the stack; nil when unknown.
	HourlyUSD *float64
	// Since is when the control plane was created, the first resource with a price per hour; zero
	// when unknown.
	Since time.Time
}

// ErrNoRayCluster means that a stack has no RayCluster (yet).
var ErrNoRayCluster = errors.New("the stack has no RayCluster; next: pulumi up")

// Types of the resources that ReadStack looks for.
const (
	stackType      = "pulumi:pulumi:Stack"
	kubernetesType = "pulumi:providers:kubernetes"
	controlPlane   = "aws:eks/cluster:Cluster"
	rayClusterType = "kubernetes:ray.io/v1:RayCluster"
)

// resource is one resource of an exported stack.
type resource struct {
	Type    string                     `json:"type"`
	Created time.Time                  `json:"created"`
	Inputs  map[string]json.RawMessage `json:"inputs"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// ReadStack returns the target of a stack from the output of `pulumi stack export --show-secrets`.
// It needs neither outputs nor a training job in the state, so that it works during the first
// update.
func ReadStack(exported []byte) (Target, error) {
	var stack struct {
		Deployment struct {
			Resources []resource `json:"resources"`
		} `json:"deployment"`
	}
	if err := json.Unmarshal(exported, &stack); err != nil {
		return Target{}, fmt.Errorf("decoding the exported stack: %w", err)
	}
	target := Target{Stack: &Stack{Verdict: jobs.VerdictNone}}
	var problems []error
	for _, r := range stack.Deployment.Resources {
		problems = append(problems, target.add(r))
	}
	if target.RayCluster == "" || target.Kubeconfig == "" {
		problems = append(problems, ErrNoRayCluster)
	}
	return target, errors.Join(problems...)
}

// add takes what a resource says.
func (t *Target) add(r resource) error {
	switch r.Type {
	case stackType:
		return read(r.Outputs["hourlyUsd"], &t.Stack.HourlyUSD)
	case kubernetesType:
		return read(r.Inputs["kubeconfig"], &t.Kubeconfig)
	case controlPlane:
		t.Stack.Since = r.Created
	case rayClusterType:
		var metadata struct{ Name, Namespace string }
		err := read(r.Outputs["metadata"], &metadata)
		t.RayCluster, t.Namespace = metadata.Name, metadata.Namespace
		return err
	case jobs.TrainingJobToken:
		return errors.Join(
			read(r.Outputs["verdict"], &t.Stack.Verdict), read(r.Outputs["submissionId"], &t.Stack.SubmissionID),
			read(r.Outputs["refusal"], &t.Stack.Refusal), read(r.Outputs["hourlyUsd"], &t.Stack.HourlyUSD),
		)
	}
	return nil
}

// read decodes a value of a state; a missing one changes nothing. A secret is an object with its JSON.
// Source: apitype.SecretV1 of the Pulumi SDK.
func read(value json.RawMessage, target any) error {
	if len(value) == 0 {
		return nil
	}
	var secret struct {
		Plaintext *string `json:"plaintext"`
	}
	if json.Unmarshal(value, &secret) == nil && secret.Plaintext != nil {
		value = json.RawMessage(*secret.Plaintext)
	}
	if err := json.Unmarshal(value, target); err != nil {
		return fmt.Errorf("decoding a value of the state: %w", err)
	}
	return nil
}
