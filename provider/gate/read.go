package gate

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
)

// Read returns the stored state, and for a failed state the same error again, also as a warning:
// `pulumi refresh` does not print the error. A state that passed, but contradicts itself or the
// record in the cluster, fails. Read warns about a job that changed since the update; a cluster
// that cannot be reached changes nothing.
func (t TrainingJob) Read(
	ctx context.Context, req infer.ReadRequest[jobs.Inputs, State],
) (infer.ReadResponse[jobs.Inputs, State], error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.ReadResponse[jobs.Inputs, State]{}, err
	}
	if req.State.Verdict == "" {
		return infer.ReadResponse[jobs.Inputs, State]{}, fmt.Errorf("importing %q: %w", req.ID, errNoImport)
	}
	bounded(ctx, recordTimeout, func(ctx context.Context) {
		problem, err := t.inspect(ctx, name, instance, req.State)
		if err != nil {
			t.env.Warn(ctx, fmt.Sprintf("the job in cluster %q was not checked: %v", req.State.ClusterName, err))
		}
		if problem != "" {
			req.State = req.State.refuted(problem)
		}
	})
	failure := req.State.failure()
	if failure != nil {
		t.env.Warn(ctx, req.State.failureText())
	}
	return infer.ReadResponse[jobs.Inputs, State](req), failure
}

// inspect returns why a state that passed is no proof ("" if it is one), and warns about an attempt
// that was not judged.
func (t TrainingJob) inspect(ctx context.Context, name, instance string, state State) (string, error) {
	if problem := state.contradiction(); problem != "" {
		return problem, nil
	}
	operation, err := t.prepare(ctx, name, instance, state.Inputs, state)
	if err != nil {
		return "", err
	}
	record, err := operation.store.Load(ctx)
	switch {
	case err != nil:
		return "", err
	case state.passed():
		return state.compare(instance, record), nil
	case record == nil || record.Settled || record.Instance != instance:
		return "", nil
	}
	job, _, err := operation.jobState(ctx, *record)
	if err != nil {
		return "", err
	}
	t.env.Warn(ctx, fmt.Sprintf("attempt %d, job %s, was not judged: %s; next: pulumi up",
		record.Number, record.SubmissionID, describeJob(job)))
	return "", nil
}

// describeJob returns what became of a recorded job.
func describeJob(job attempt.JobState) string {
	switch job {
	case attempt.Active:
		return "it still runs"
	case attempt.Ended:
		return "it ended since"
	case attempt.Moved, attempt.Lost:
		return "the Ray head restarted, so the job or its evidence is lost"
	case attempt.Foreign:
		return "another client's job has its id"
	case attempt.Absent:
		return "Ray does not know it"
	default:
		return string(job)
	}
}

// refuted returns the state without its verdict, because another part of it, or the record in the
// cluster, shows that the verdict is not that of the run.
func (s State) refuted(problem string) State {
	s.Verdict = report.Inconclusive
	s.Findings = append([]report.Finding{{
		Code: "state-contradicted", Severity: report.Error, Text: problem,
		Cause: "the stack's state was edited or restored, or the attempt's record in the cluster was " +
			"deleted, so that it proves nothing",
		Next: "pulumi up (runs a new attempt)",
	}}, s.Findings...)
	s.Refusal = refuse(s, "state-contradicted", "refused: the state of the training job is no proof", "pulumi up")
	return s
}
