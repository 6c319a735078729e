// Package gate is the TrainingJob resource: it runs a training job at most once
// for each proof that is wanted, judges what every rank left behind, and fails
// the update unless the verdict is efa.
package gate

import (
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Inputs mirrors jobs.TrainingJobArgs, whose fields it does not explain again.
type Inputs struct {
	Kubeconfig            string            `provider:"secret" pulumi:"kubeconfig"`
	ClusterName           string            `pulumi:"clusterName"`
	Namespace             string            `pulumi:"namespace"`
	RayCluster            string            `pulumi:"rayCluster"`
	ImageDigest           string            `pulumi:"imageDigest"`
	Environment           map[string]string `pulumi:"environment"`
	LaunchTemplateVersion string            `pulumi:"launchTemplateVersion"`
	AMIRelease            string            `pulumi:"amiRelease"`
	NodeType              string            `pulumi:"nodeType"`
	NodeCount             int               `pulumi:"nodeCount"`
	ChartVersions         map[string]string `pulumi:"chartVersions"`
	RayClusterSpec        string            `pulumi:"rayClusterSpec"`
	Training              train.Config      `pulumi:"training"`
	Expectations          jobs.Expectations `pulumi:"expectations"`
	ReadySeconds          int               `pulumi:"readySeconds"`
	DeadlineSeconds       int               `pulumi:"deadlineSeconds"`
	HourlyUSD             float64           `pulumi:"hourlyUsd"`
	Region                string            `pulumi:"region"`
	EvidenceDir           string            `pulumi:"evidenceDir"`
}

// State is what the stack keeps of a TrainingJob, green or red.
type State struct {
	Inputs

	Verdict        string         `pulumi:"verdict"`
	Findings       []jobs.Finding `pulumi:"findings"`
	Ranks          []jobs.Rank    `pulumi:"ranks"`
	SubmissionID   string         `pulumi:"submissionId"`
	JobStatus      string         `pulumi:"jobStatus"`
	Attempt        int            `pulumi:"attempt"`
	ProofHash      string         `pulumi:"proofHash"`
	ReportPath     string         `pulumi:"reportPath"`
	StepsPerSecond *float64       `pulumi:"stepsPerSecond,optional"`
	FinalLoss      *float64       `pulumi:"finalLoss,optional"`
	WorldSize      *int           `pulumi:"worldSize,optional"`
	Counters       *jobs.Counters `pulumi:"efaCounters,optional"`
	// Nodes and Pods are the cluster as the job found it; empty when no job was
	// submitted by this operation.
	Nodes     []jobs.Node `pulumi:"nodes"`
	Pods      []jobs.Pod  `pulumi:"pods"`
	Rehearsed bool        `pulumi:"rehearsed"`
	// Refusal is the message that the update failed with; empty when green.
	Refusal string `pulumi:"refusal"`
}

// green tells whether the state passes the gate.
func (s State) green() bool { return s.Verdict == verdictEFA && s.Refusal == "" }

// verdictEFA is the only verdict that passes.
const verdictEFA = "efa"

// failure is the error that keeps a red state in the stack and fails the update.
func (s State) failure() error {
	if s.green() {
		return nil
	}
	return infer.ResourceInitFailedError{Reasons: []string{s.Refusal}}
}
