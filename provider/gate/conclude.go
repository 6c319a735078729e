package gate

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/refusal"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// conclude turns a judgement into a state and files the evidence.
func (r *runner) conclude(
	end ending, judgement evidence.Judgement, moved *jobs.Counters, log []byte, files []evidence.File,
) (State, error) {
	state := r.attempted()
	result := judgement.Report
	state.Verdict = string(result.Verdict)
	state.JobStatus = string(end.job.Status)
	state.Findings = slices.Concat(r.stillActive(end), findings(result.Findings), r.seenAround.found)
	state.Ranks = ranks(result.Ranks, judgement.Manifests)
	state.Counters = moved
	seen := len(judgement.Manifests)
	state.WorldSize = &seen
	if judgement.Result != nil {
		state.StepsPerSecond, state.FinalLoss = judgement.Result.StepsPerSecond, judgement.Result.FinalLoss
	}
	path, err := filepath.Abs(filepath.Join(r.in.EvidenceDir, r.record.SubmissionID, "report.txt"))
	if err != nil {
		return State{}, fmt.Errorf("naming the report of %q: %w", r.record.SubmissionID, err)
	}
	state.ReportPath = path
	if state.Verdict != verdictEFA || end.job.Status != rayapi.Succeeded {
		state.Refusal = refusal.Render(r.refusal(state, end, log))
	}
	for i := range files {
		files[i].Text = r.redact(files[i].Text)
	}
	end.job.Message = string(r.redact([]byte(end.job.Message)))
	_, err = evidence.Archive(filepath.Dir(filepath.Dir(path)), evidence.Bundle{
		Rehearsed: r.env.Rehearsed, SubmissionID: r.record.SubmissionID, Attempt: r.record.Number,
		Nonce: r.record.Nonce, ProofHash: r.hash, Job: end.job, Result: judgement.Result, Counters: moved,
		HourlyUSD: r.in.HourlyUSD, Refusal: state.Refusal, Manifests: judgement.Manifests,
	}, result, files, log)
	if err != nil {
		return State{}, err
	}
	return state, nil
}

func (r *runner) refusal(state State, end ending, log []byte) refusal.Refusal {
	said := refusal.Refusal{
		Verdict: state.Verdict, Rehearsed: r.env.Rehearsed, SubmissionID: state.SubmissionID,
		JobStatus: state.JobStatus, ExitCode: end.job.ExitCode,
		RanksSeen: *state.WorldSize, WorldSize: r.in.Expectations.WorldSize,
		TimedOut: end.timedOut, StillActive: end.stillActive, DeadlineSeconds: r.in.DeadlineSeconds,
		Findings: state.Findings, ReportPath: state.ReportPath, HourlyUSD: r.in.HourlyUSD,
	}
	if end.job.Status == rayapi.Failed {
		said.Output = string(log)
		if len(bytes.TrimSpace(log)) == 0 { // the driver never started
			said.Output = string(r.redact([]byte(end.job.Message)))
		}
	}
	return said
}

// stillActive is the finding about a job that goes on after it was told to stop.
func (r *runner) stillActive(end ending) []jobs.Finding {
	if !end.stillActive {
		return nil
	}
	return []jobs.Finding{{
		Code: "job-still-active", Severity: "error", Text: string(end.job.Status) + ": " + string(r.redact([]byte(end.job.Message))),
		Cause: fmt.Sprintf("the job did not stop within %s of its deadline; it may go on, or start, and hold the GPUs", stopPatience),
		Next: fmt.Sprintf("kubectl -n %s delete pod -l ray.io/cluster=%s (KubeRay makes new ones), then pulumi up",
			r.in.Namespace, r.in.RayCluster),
	}}
}

// attempted is a state without an outcome yet. Its attempt number is the newest
// that is known, so that none is used twice even when the record is lost.
func (r *runner) attempted() State {
	state := TrainingJob{r.env}.unproven(r.in)
	state.ProofHash = r.hash
	state.Attempt = max(r.record.Number, r.known)
	if r.previous != nil {
		state.Attempt = max(state.Attempt, r.previous.Number)
	}
	state.SubmissionID = r.record.SubmissionID
	if r.seenAround.pods != nil {
		state.Nodes, state.Pods = r.seenAround.nodes, r.seenAround.pods
	}
	return state
}

// refusedBefore is the state when the preflight says no: no job ran.
func (r *runner) refusedBefore(found []jobs.Finding) State {
	state := r.attempted()
	state.Findings = found
	state.Refusal = refusal.Render(refusal.Refusal{
		Verdict: state.Verdict, Rehearsed: r.env.Rehearsed, Findings: found, HourlyUSD: r.in.HourlyUSD,
	})
	return state
}

// interrupted is the state when the operation ended before its job was judged:
// cancelled, out of time, or cut off. The record stays unsettled, and the next
// update adopts the job.
func (r *runner) interrupted(cause error) State {
	state := r.attempted()
	what := "before a job was submitted"
	if state.SubmissionID != "" {
		what = "before job " + state.SubmissionID + " was judged; if it runs, it goes on"
	}
	state.Findings = []jobs.Finding{{
		Code: "interrupted", Severity: "error", Text: cause.Error(),
		Cause: "the update was cancelled, ran out of time or lost the cluster " + what,
		Next:  "pulumi up (adopts a job that runs or ended since), or pulumi destroy (stops it)",
	}}
	state.Refusal = refusal.Render(refusal.Refusal{
		Verdict: state.Verdict, Rehearsed: r.env.Rehearsed, Interrupted: true, SubmissionID: state.SubmissionID,
		Findings: state.Findings, HourlyUSD: r.in.HourlyUSD,
	})
	return state
}

// driverLog is the job's output, for people; nil when there is none to read.
func (r *runner) driverLog(ctx context.Context, job rayapi.Job) []byte {
	log, err := r.ray.DriverLog(ctx, job)
	if err != nil {
		return nil
	}
	return r.redact(log)
}

// redact removes the cluster's token: user code can see and print it.
func (r *runner) redact(text []byte) []byte {
	if r.token == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(r.token), []byte("[token removed]"))
}

func findings(list []report.Finding) []jobs.Finding {
	converted := make([]jobs.Finding, 0, len(list))
	for _, f := range list {
		converted = append(converted, jobs.Finding{
			Code: f.Code, Severity: string(f.Severity), Rank: f.Rank, File: f.File, Line: f.Line,
			Text: f.Text, Cause: f.Cause, Next: f.Next,
		})
	}
	return converted
}

// ranks joins the logs' view of each rank with its manifest's.
func ranks(list []report.Rank, manifests []evidence.Manifest) []jobs.Rank {
	nodes := map[int]string{}
	for _, manifest := range manifests {
		nodes[manifest.Rank] = manifest.Node
	}
	converted := make([]jobs.Rank, 0, len(list))
	for _, rank := range list {
		channels := rank.Channels
		if channels == nil {
			channels = map[string]int{}
		}
		converted = append(converted, jobs.Rank{
			Rank: rank.Rank, Node: nodes[rank.Rank], Host: rank.Host, PID: rank.PID, File: rank.File,
			Network: rank.Network, Provider: rank.Provider, Channels: channels,
		})
	}
	return converted
}
