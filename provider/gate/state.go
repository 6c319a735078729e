// Package gate implements the TrainingJob resource. It runs a training job at most once per
// required proof, judges the evidence of every rank, and fails the update unless the verdict is
// efa.
package gate

import (
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// State is the state of a TrainingJob in the stack, passed or failed.
type State struct {
	jobs.Inputs

	Verdict      report.Verdict   `pulumi:"verdict"`
	Findings     []report.Finding `pulumi:"findings"`
	Ranks        []report.Rank    `pulumi:"ranks"`
	SubmissionID string           `pulumi:"submissionId"`
	JobStatus    rayapi.JobStatus `pulumi:"jobStatus"`
	Attempt      int              `pulumi:"attempt"`
	ProofHash    string           `pulumi:"proofHash"`
	// CodeRevision is train.Revision of the training code that ran; empty in states of earlier releases.
	CodeRevision   string             `pulumi:"codeRevision,optional"`
	ReportPath     string             `pulumi:"reportPath"`
	StepsPerSecond *float64           `pulumi:"stepsPerSecond,optional"`
	FinalLoss      *float64           `pulumi:"finalLoss,optional"`
	WorldSize      *int               `pulumi:"worldSize,optional"`
	Counters       *evidence.Counters `pulumi:"efaCounters,optional"`
	// Nodes and Pods describe the cluster before the job; empty if no job was submitted.
	Nodes     []jobs.Node `pulumi:"nodes"`
	Pods      []jobs.Pod  `pulumi:"pods"`
	Rehearsed bool        `pulumi:"rehearsed"`
	// AccountID is the AWS account of the credentials that reached the cluster; empty when unknown.
	AccountID string `pulumi:"accountId,optional"`
	// Refusal is why the update failed; nil if the state passed.
	Refusal *refusal.Refusal `pulumi:"refusal,optional"`
}

// passed reports whether the state passes the gate.
func (s State) passed() bool { return s.Verdict == report.EFA && s.Refusal == nil }

// failure returns the error that keeps a failed state in the stack and fails the update.
func (s State) failure() error {
	if s.passed() {
		return nil
	}
	return infer.ResourceInitFailedError{Reasons: []string{s.failureText()}}
}

// failureText returns why the state does not pass.
func (s State) failureText() string {
	if s.Refusal != nil {
		return s.Refusal.Error()
	}
	return "the state has no verdict; next: pulumi up"
}

// withInputs returns the state with other inputs.
func (s State) withInputs(in jobs.Inputs) State {
	s.Inputs = in
	return s
}

// unproven returns the state of a job that has not run.
func unproven(in jobs.Inputs, rehearsed bool) State {
	return State{
		Inputs: in, Verdict: jobs.VerdictNone, Rehearsed: rehearsed,
		Findings: []report.Finding{}, Ranks: []report.Rank{}, Nodes: []jobs.Node{}, Pods: []jobs.Pod{},
	}
}
