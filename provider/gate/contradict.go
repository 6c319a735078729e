package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// A state can be edited (pulumi stack export and import), so that its verdict alone proves nothing.
// The other outputs of the run and the record in the cluster must agree with it.

// contradiction returns which output of a state that passed cannot be that of a run that passed; ""
// for none.
func (s State) contradiction() string {
	if !s.passed() {
		return ""
	}
	failed := slices.IndexFunc(s.Findings, func(f report.Finding) bool { return f.Severity == report.Error })
	other := slices.IndexFunc(s.Ranks, func(r report.Rank) bool {
		return slices.Contains([]report.Traffic{report.TrafficOther, report.TrafficUnknown}, r.Traffic)
	})
	switch {
	case s.JobStatus != rayapi.Succeeded:
		return fmt.Sprintf("verdict is %q, but jobStatus is %q", s.Verdict, s.JobStatus)
	case len(s.Ranks) != s.Expectations.WorldSize:
		return fmt.Sprintf("verdict is %q, but ranks has %d of %d ranks", s.Verdict, len(s.Ranks), s.Expectations.WorldSize)
	case other >= 0:
		return fmt.Sprintf("verdict is %q, but the traffic of rank %d is %q",
			s.Verdict, s.Ranks[other].Rank, s.Ranks[other].Traffic)
	case failed >= 0:
		return fmt.Sprintf("verdict is %q, but findings has the error %q", s.Verdict, s.Findings[failed].Code)
	default:
		return ""
	}
}

// compare returns how a state that passed differs from the record in the cluster; "" if it does
// not. Records of earlier releases have no verdict.
func (s State) compare(instance string, record *attempt.Record) string {
	switch {
	case record == nil:
		return fmt.Sprintf("the cluster has no record of attempt %d", s.Attempt)
	case record.Instance != instance || record.Number != s.Attempt:
		return fmt.Sprintf("the state is of attempt %d, the record in the cluster of attempt %d", s.Attempt, record.Number)
	case record.ProofHash != s.ProofHash || record.SubmissionID != s.SubmissionID:
		return fmt.Sprintf("the state is of job %q, the record in the cluster of job %q", s.SubmissionID, record.SubmissionID)
	case record.Verdict != "" && record.Verdict != s.Verdict:
		return fmt.Sprintf("verdict is %q, but the record in the cluster says %q", s.Verdict, record.Verdict)
	case record.JobStatus != "" && record.JobStatus != s.JobStatus:
		return fmt.Sprintf("jobStatus is %q, but the record in the cluster says %q", s.JobStatus, record.JobStatus)
	default:
		return ""
	}
}

// compareRecord reads the record of the operation's resource and compares a state that passed with
// it.
func (o operation) compareRecord(ctx context.Context, state State) (string, error) {
	record, err := o.store.Load(ctx)
	if err != nil {
		return "", err
	}
	return state.compare(o.instance, record), nil
}

// recordTimeout bounds the look at the record in a preview or refresh, which must not wait for a
// cluster that cannot be reached.
const recordTimeout = 10 * time.Second

// recordProblem is compareRecord for a preview. It returns "" if the state did not pass, or if the
// cluster cannot be reached: the update itself then fails if a job would be needed.
func (t TrainingJob) recordProblem(ctx context.Context, id string, state State) string {
	if !state.passed() {
		return ""
	}
	name, instance, err := splitID(id)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	operation, err := t.prepare(ctx, name, instance, state.Inputs, state)
	if err != nil {
		return ""
	}
	problem, err := operation.compareRecord(ctx, state)
	if err != nil {
		t.env.Log(ctx, "not comparing the state with the cluster: "+err.Error())
	}
	return problem
}

// rerunReason returns why an update from a state to inputs needs another run; "" if it does not.
func (t TrainingJob) rerunReason(state State, in jobs.Inputs, proof attempt.Proof) string {
	contradiction := state.contradiction()
	switch {
	case state.Refusal != nil:
		return fmt.Sprintf("the last attempt was refused (%s)", state.Refusal.Code)
	case !state.passed():
		return "the state has no verdict"
	case contradiction != "":
		return "the state contradicts itself: " + contradiction
	case proof.Matches(state.ProofHash):
		return ""
	}
	was := attempt.Code{Revision: state.CodeRevision, Entrypoint: t.env.Entrypoint}
	is := attempt.Code{Revision: train.Revision(t.env.Code), Entrypoint: t.env.Entrypoint}
	return describe(attempt.Changes(state.Inputs, in, was, is))
}

const (
	// shownChanges is how many changes a reason lists, shownLength how much of a value.
	shownChanges = 8
	shownLength  = 60
)

// describe lists changes of a proof in words. Without any, the training code is the only thing
// left.
func describe(changes []attempt.Change) string {
	if len(changes) == 0 {
		return "the training code changed"
	}
	var texts []string
	for _, change := range changes[:min(shownChanges, len(changes))] {
		texts = append(texts, fmt.Sprintf("%s changes from %s to %s", change.Name, show(change.From), show(change.To)))
	}
	if more := len(changes) - shownChanges; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more values change", more))
	}
	return strings.Join(texts, "; ")
}

// show returns a value for people. In a preview an empty text is an output of a resource that
// changes.
func show(value string) string {
	switch {
	case value == "":
		return "unset"
	case value == `""`:
		return "a value that is known after the update"
	case len(value) > shownLength:
		return strings.ToValidUTF8(value[:shownLength], "") + "..."
	default:
		return value
	}
}
