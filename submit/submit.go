// Package submit runs a script or the built-in training as a job on any Ray cluster and judges from
// NCCL's logs whether its traffic between nodes used EFA. A script needs no change (package
// jobs/script).
package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Job is a script or the built-in training, and what is required of its run.
type Job struct {
	// Name begins the submission's id; "raytrain" when empty.
	Name string
	// Training is the built-in training, which runs instead of Entrypoint; nil for none. It needs
	// WorldSize and Nodes.
	Training *train.Config
	// Entrypoint is a shell command, which runs on the Ray head.
	Entrypoint string
	// WorkingDir is the local folder that it runs in; empty for none.
	WorkingDir string
	// Environment holds variables of all processes. Ray shows them to everyone who can read a job.
	Environment map[string]string
	// Requirements are Python packages that are installed on each node, as script.ReadRequirements
	// returns them; empty for none.
	Requirements []string
	Expected
}

// Expected is what is required of a run. It travels with the job, so that Attach requires the same.
type Expected struct {
	// WorldSize is the number of ranks and Nodes that of nodes that the run must have; 0 means any.
	WorldSize int `json:"worldSize"`
	Nodes     int `json:"nodes"`
	// Provider is the libfabric provider that the traffic must use, such as "efa".
	Provider string `json:"provider"`
	// Deadline is how long the job may take from its start; 0 means any time.
	Deadline time.Duration `json:"deadline"`
}

// Submitter submits jobs to one cluster.
type Submitter struct {
	Ray *rayapi.Client
	// Token is removed from everything that is written; empty for none.
	Token string
	// EvidenceDir is the local folder for reports and logs.
	EvidenceDir string
	// FailFast reports whether a job is stopped as soon as its verdict can no longer become efa.
	FailFast bool
	// Leave reports whether a job keeps running when the context of Run ends. Otherwise it is stopped.
	Leave bool
	// Again is the command that reports suggest to run the job again.
	Again string
	Clock evidence.Clock
	// Log shows one line of progress.
	Log func(line string)
	// Output receives the job's output while it runs; nil for nobody.
	Output io.Writer
}

// Result is a judged run.
type Result struct {
	SubmissionID string
	// Job is the job's last state.
	Job    rayapi.Job
	Report report.Report
	// Measured is what rank 0 of the built-in training measured; nil when it did not end well, and for
	// a script.
	Measured *evidence.Result
	// ReportPath is the text report. The driver's output and the ranks' logs are beside it.
	ReportPath string
}

// Passed reports whether the job succeeded and all its traffic between nodes used EFA.
func (r Result) Passed() bool {
	return r.Report.Verdict == report.EFA && r.Job.Status == rayapi.Succeeded
}

// ErrNotJudged is wrapped by the error of a run that ended before its job was judged.
var ErrNotJudged = errors.New("the job was not judged")

// Keys of the job's metadata.
const (
	metadataNonce = "raytrain-nonce"
	metadataWant  = "raytrain-expected"
	// metadataTraining is there when the built-in training runs.
	metadataTraining = "raytrain-training"
)

// Run submits a job, waits until it ends, and judges it. The job is submitted at most once. If ctx
// ends earlier, the job is stopped, or left running if the submitter says so, and the error wraps
// ErrNotJudged.
func (s Submitter) Run(ctx context.Context, job Job) (Result, error) {
	id := newIdentity(job.Name)
	want, err := job.Expected.encode()
	if err != nil {
		return Result{}, err
	}
	program, err := job.program(id)
	if err != nil {
		return Result{}, err
	}
	session, err := s.preflight(ctx, job.Expected)
	if err != nil {
		return Result{}, err
	}
	env, err := s.Ray.Upload(ctx, rayapi.RuntimeEnv{
		EnvVars: program.environment, SetupHook: program.hook, Pip: rayapi.HashedPip(job.Requirements),
	}, program.code, program.modules...)
	if err != nil {
		return Result{}, err
	}
	metadata := map[string]string{metadataNonce: id.Nonce, metadataWant: want}
	if job.Training != nil {
		metadata[metadataTraining] = "true"
	}
	_, err = s.Ray.Submit(ctx, rayapi.Submission{
		ID: id.SubmissionID, Entrypoint: program.entrypoint, RuntimeEnv: env, Metadata: metadata,
	})
	if err != nil {
		if ctx.Err() != nil { // it may have been submitted
			return Result{}, s.interrupted(ctx, id.SubmissionID)
		}
		return Result{}, err
	}
	s.Log("submitted job " + id.SubmissionID)
	return s.finish(ctx, id, session, job.Training != nil, job.Expected)
}

// Attach waits for a job that an earlier Run submitted, and judges it. The job may have ended.
func (s Submitter) Attach(ctx context.Context, submissionID string) (Result, error) {
	version, err := s.Ray.Version(ctx)
	if err != nil {
		return Result{}, err
	}
	job, err := s.Ray.Job(ctx, submissionID)
	if err != nil {
		return Result{}, err
	}
	nonce, ours := job.Metadata[metadataNonce]
	if !ours {
		return Result{}, fmt.Errorf("attaching to job %q: %w", submissionID, errForeign)
	}
	want, err := decodeExpected(job.Metadata[metadataWant])
	if err != nil {
		return Result{}, fmt.Errorf("attaching to job %q: %w", submissionID, err)
	}
	id := script.Identity{SubmissionID: submissionID, Nonce: nonce}
	_, training := job.Metadata[metadataTraining]
	return s.finish(ctx, id, version.SessionName, training, want)
}

var errForeign = errors.New("raytrain submit did not start it, so it left no evidence")

// finish waits for a job, collects its evidence and judges it.
func (s Submitter) finish(
	ctx context.Context, id script.Identity, session string, training bool, want Expected,
) (Result, error) {
	run := evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: id.SubmissionID, Nonce: id.Nonce, WorldSize: want.WorldSize, Nodes: want.Nodes,
		},
		Script: !training, Again: s.Again, Provider: want.Provider, CountersAbsent: true,
	}
	collector := evidence.NewCollector(s.Ray, evidence.Copies{
		SubmissionID: id.SubmissionID, Dir: s.EvidenceDir, Token: s.Token,
	})
	defer func() {
		if err := collector.Close(); err != nil { // the result is valid
			s.Log(err.Error())
		}
	}()
	defer s.showOutput(ctx, id.SubmissionID)()
	end, err := follow.Job{
		Ray: s.Ray, ID: id.SubmissionID, Session: session, Deadline: want.Deadline,
		Watch: evidence.NewWatch(run), FailFast: s.FailFast, Clock: s.Clock, Log: s.Log,
	}.Wait(ctx, collector)
	switch {
	case ctx.Err() != nil:
		return Result{}, s.interrupted(ctx, id.SubmissionID)
	case err != nil:
		return Result{}, fmt.Errorf("%w: %w; next: %s --attach %s", ErrNotJudged, err, s.Again, id.SubmissionID)
	}
	s.Log("collecting the logs of job " + id.SubmissionID)
	gaps := collector.Finish(ctx, s.Clock)
	if ctx.Err() != nil {
		return Result{}, s.interrupted(ctx, id.SubmissionID)
	}
	if errors.Is(gaps, evidence.ErrNotStored) {
		return Result{}, fmt.Errorf("%w: %w; next: %s --attach %s", ErrNotJudged, gaps, s.Again, id.SubmissionID)
	}
	run.Status, run.Gaps, run.Files = end.Job.Status, gaps, collector.Files()
	judgement, err := evidence.Judge(ctx, run)
	if err != nil {
		return Result{}, err
	}
	judgement.Report.Findings = slices.Concat(s.endings(end, want), judgement.Report.Findings)
	end.Job.Message = string(evidence.RedactText([]byte(end.Job.Message), s.Token))
	result := Result{
		SubmissionID: id.SubmissionID, Job: end.Job, Report: judgement.Report, Measured: judgement.Result,
	}
	log, err := collector.DriverLog(ctx, end.Job)
	if err != nil { // people read it; it is no evidence
		s.Log(err.Error())
	}
	result.ReportPath, err = evidence.Archive(s.EvidenceDir, evidence.Bundle{
		SubmissionID: id.SubmissionID, Nonce: id.Nonce, Job: end.Job, Result: judgement.Result,
		Manifests: judgement.Manifests,
	}, result.Report, run.Files, log)
	return result, err
}

// outputRest is how long the rest of the output of a job that has ended may take.
const outputRest = 10 * time.Second

// showOutput copies the job's output in the background. The returned function waits for its end.
func (s Submitter) showOutput(ctx context.Context, id string) (wait func()) {
	if s.Output == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// driver.log has all of it, next to the report.
		output := evidence.NewRedactor(s.Output, s.Token)
		_ = s.Ray.TailDriverLog(ctx, id, output) //nolint:errcheck // see above
		_ = output.Flush()                       //nolint:errcheck // see above
	}()
	return func() {
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		case <-time.After(outputRest):
		}
	}
}

// endings returns findings about how the job ended.
func (s Submitter) endings(end follow.Outcome, want Expected) []report.Finding {
	var found []report.Finding
	if end.Stopped == follow.NotEFA {
		found = append(found, report.Finding{
			Code: "stopped-early", Severity: report.Error,
			Text:  fmt.Sprintf("the job was stopped after %s", end.Waited.Round(time.Second)),
			Cause: "its logs show that the verdict could no longer become efa",
			Next:  "fix the cause below, then " + s.Again,
		})
	}
	if end.Stopped == follow.AtDeadline {
		found = append(found, report.Finding{
			Code: "deadline-passed", Severity: report.Error,
			Text:  fmt.Sprintf("the job was stopped after %s", want.Deadline),
			Cause: "the job did not end before its deadline: its ranks hang, or need more time",
			Next:  "read driver.log next to the report; " + s.Again + " with a longer --deadline if it only needs more time",
		})
	}
	if end.StillActive {
		found = append(found, report.Finding{
			Code: "job-still-active", Severity: report.Error, Text: string(end.Job.Status) + ": " + end.Job.Message,
			Cause: fmt.Sprintf("the job did not stop within %s; it may still run, or start later, and use GPUs",
				follow.StopTimeout),
			Next: "restart the Ray head, then " + s.Again,
		})
	}
	return append(found, end.RayFailure(s.Again)...)
}

// interrupted stops the job, or leaves it, and returns the error that says so.
func (s Submitter) interrupted(ctx context.Context, id string) error {
	again := fmt.Sprintf("%s --attach %s (waits for the job and judges it)", s.Again, id)
	if s.Leave {
		return fmt.Errorf("%w: %w; job %s continues; next: %s", ErrNotJudged, context.Cause(ctx), id, again)
	}
	s.Log("stopping job " + id)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), follow.StopTimeout)
	defer cancel()
	_, err := s.Ray.StopAndWait(late, id, follow.StopTimeout)
	switch {
	case errors.Is(err, rayapi.ErrNotFound):
		return fmt.Errorf("%w: %w; no job was submitted; next: %s", ErrNotJudged, context.Cause(ctx), s.Again)
	case err != nil:
		return fmt.Errorf("%w: %w; job %s may still run: %w; next: %s",
			ErrNotJudged, context.Cause(ctx), id, err, again)
	default:
		return fmt.Errorf("%w: %w; job %s was stopped; next: %s", ErrNotJudged, context.Cause(ctx), id, s.Again)
	}
}
