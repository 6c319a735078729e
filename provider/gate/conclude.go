package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// conclude returns the state for a judgement and archives the evidence below dir.
func (o operation) conclude(
	dir string, begun run, end follow.Outcome, gathered collected, judgement evidence.Judgement,
) (State, error) {
	end.Job.Message = string(begun.head.redact([]byte(end.Job.Message)))
	state := o.attempted(begun)
	state.Verdict = judgement.Report.Verdict
	state.JobStatus = end.Job.Status
	state.Findings = slices.Concat(
		o.stillActive(end), impossible(end), gathered.failures, judgement.Report.Findings, begun.cluster.found, begun.notes)
	state.Ranks = judgement.Report.Ranks
	state.Counters = gathered.counters
	seen := len(judgement.Manifests)
	if o.in.Entrypoint != "" { // the ranks of a script leave no manifest
		seen = len(judgement.Report.Ranks)
	}
	state.WorldSize = &seen
	if judgement.Result != nil {
		state.StepsPerSecond, state.FinalLoss = judgement.Result.StepsPerSecond, judgement.Result.FinalLoss
	}
	state.ReportPath = filepath.Join(dir, begun.record.SubmissionID, "report.txt")
	if state.Verdict != report.EFA || end.Job.Status != rayapi.Succeeded {
		state.Refusal = refuseRun(state, end, gathered.log.Tail())
	}
	_, err := evidence.Archive(dir, evidence.Bundle{
		Rehearsed: o.env.Rehearsed, SubmissionID: begun.record.SubmissionID, Attempt: begun.record.Number,
		Nonce: begun.record.Nonce, ProofHash: o.proof.Hash, Job: end.Job, Result: judgement.Result,
		Counters: gathered.counters, HourlyUSD: o.in.HourlyUSD, Refusal: state.Refusal,
		Manifests: judgement.Manifests, Image: o.in.ImageDigest, Environment: o.in.Environment,
	}, judgement.Report, gathered.files, gathered.log)
	return state, err
}

// stillActive returns the finding about a job that did not end when it was stopped.
func (o operation) stillActive(end follow.Outcome) []report.Finding {
	if !end.StillActive {
		return nil
	}
	return []report.Finding{{
		Code: "job-still-active", Severity: report.Error,
		Text: string(end.Job.Status) + ": " + end.Job.Message,
		Cause: fmt.Sprintf("the job did not stop within %s; "+
			"it may still run, or start later, and use the GPUs", follow.StopTimeout),
		Next: fmt.Sprintf("kubectl -n %s delete pod -l ray.io/cluster=%s (KubeRay creates new pods), "+
			"then pulumi up", o.in.Namespace, o.in.RayCluster),
	}}
}

// impossible returns the finding about a job that requested more than the cluster can ever have.
func impossible(end follow.Outcome) []report.Finding {
	if end.Impossible == "" {
		return nil
	}
	return []report.Finding{{
		Code: "job-impossible", Severity: report.Error, Text: end.Impossible,
		Cause: "the script requests more GPUs than the cluster has, so that it would wait forever",
		Next: "request fewer GPUs in the script, or pulumi config set --path gpu.nodes NUMBER; " +
			"then pulumi up",
	}}
}

// attempted returns the state of a run without an outcome. Its attempt number is the highest known
// one, so that no number is used twice even if the record is lost.
func (o operation) attempted(begun run) State {
	state := unproven(o.in, o.env.Rehearsed)
	state.ProofHash = o.proof.Hash
	state.CodeRevision = train.Revision(o.env.Code)
	state.Attempt = begun.number
	state.SubmissionID = begun.record.SubmissionID
	state.AccountID = begun.account
	if begun.cluster.pods != nil {
		state.Nodes, state.Pods = begun.cluster.nodes, begun.cluster.pods
	}
	return state
}

// refusedByPreflight returns the state after the preflight refused the job.
func (o operation) refusedByPreflight(begun run, found []report.Finding) State {
	state := o.attempted(begun)
	state.Findings = found
	state.Refusal = refuse(state, "preflight", "refused by the preflight; no job was run", "pulumi up")
	return state
}

// reasonOf returns why an operation ended before its job was judged.
func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, context.Canceled):
		return "the update was canceled"
	case errors.Is(cause, context.DeadlineExceeded):
		return "the update ran out of time"
	default:
		return "the cluster did not answer, or answered with an error,"
	}
}

// interrupted returns the state when the operation ended before its job was judged: cancelled,
// timed out or disconnected. Unless its job was stopped, the record stays unsettled, and the next
// update adopts the job.
func (o operation) interrupted(begun run, cause error, stopped bool) State {
	state := o.attempted(begun)
	when, next := "before a job was submitted", "pulumi up (continues with the job), or pulumi destroy (stops it)"
	switch {
	case stopped:
		when = "before job " + state.SubmissionID + " was judged; the job was stopped (job.onCancel)"
		next = "pulumi up (runs a new attempt)"
	case state.SubmissionID != "":
		when = "before job " + state.SubmissionID + " was judged; if it runs, it continues"
	}
	if full := notWritten(cause, o.in.EvidenceDir); full != nil {
		state.Findings = []report.Finding{*full}
		state.Refusal = refuse(state, full.Code, "refused: the evidence could not be written", full.Next)
		return state
	}
	state.Findings = []report.Finding{{
		Code: "interrupted", Severity: report.Error, Text: cause.Error(),
		Cause: reasonOf(cause) + " " + when,
		Next:  next,
	}}
	state.Refusal = refuse(state, "interrupted", "interrupted before the verdict", "pulumi up")
	return state
}

// notWritten returns the finding about evidence that this machine could not store; nil for another
// error. The record stays unsettled, and the next update judges the same job.
func notWritten(cause error, folder string) *report.Finding {
	var failed *fs.PathError
	var moved *os.LinkError
	if !errors.As(cause, &failed) && !errors.As(cause, &moved) {
		return nil
	}
	found := &report.Finding{
		Code: "evidence-not-written", Severity: report.Error, Text: cause.Error(),
		Cause: "this machine could not write the evidence, so that there is no verdict",
		Next:  fmt.Sprintf("ls -ld %q; make it writable, then pulumi up (judges the same job)", folder),
	}
	if errors.Is(cause, syscall.ENOSPC) || errors.Is(cause, syscall.EDQUOT) {
		found.Code, found.Cause = "disk-full", "the disk of this machine is full, so that there is no verdict"
		found.Next = fmt.Sprintf("df -h %q; free space, then pulumi up (judges the same job)", folder)
	}
	return found
}
