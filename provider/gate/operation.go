package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// operation is one create, update or delete of one resource. It is immutable.
type operation struct {
	env  Environment
	in   jobs.Inputs
	name string
	// instance is empty for a resource that is being created.
	instance string
	// known is the highest attempt number in the resource's state, submissionID its job.
	known        int
	submissionID string
	proof        attempt.Proof
	cluster      Cluster
	store        *attempt.Store
}

// run is the progress of an operation on an attempt. The zero value has no attempt.
type run struct {
	// instance is the resource's; empty before it is decided.
	instance string
	// number is the highest known attempt number.
	number int
	// record is the record of the attempt; zero before there is one.
	record attempt.Record
	// cluster is the result of the preflight; zero for an adopted attempt.
	cluster clusterState
	head    head
	// workers are the names of the worker pods.
	workers []string
	// account is the AWS account of the credentials; empty when unknown.
	account string
	// notes are findings about earlier attempts.
	notes []report.Finding
}

// execute runs or adopts a job and judges it; it returns the state and the resource's instance. An
// error means that no attempt was started. After that, every outcome is stored in the state, so
// that destroy can find and stop the job. A create that was interrupted before it had an instance
// returns no state, because its id would be incomplete.
func (o operation) execute(ctx context.Context) (State, string, error) {
	// Delete must look for the cluster in the same account. If the account is unknown, the field is
	// empty.
	account, accountErr := o.cluster.Account(ctx)
	if accountErr != nil {
		account = ""
	}
	begun, refusals, err := o.begin(ctx)
	begun.account = account
	var state State
	switch {
	case err == nil && len(refusals) > 0:
		state = o.refusedByPreflight(begun, refusals)
	case err == nil:
		state, err = o.finish(ctx, begun)
	}
	switch {
	case err == nil:
		return state, begun.instance, nil
	case ctx.Err() != nil && begun.instance != "":
		stopped := o.stopOnCancel(ctx, begun)
		return o.interrupted(begun, context.Cause(ctx), stopped), begun.instance, nil //nolint:nilerr // the state keeps the cause
	case begun.record.SubmissionID != "":
		return o.interrupted(begun, err, false), begun.instance, nil
	default:
		return State{}, "", err
	}
}

// begin adopts the recorded attempt or submits the next one. If it returns findings, they explain
// why the job was refused, and there is no attempt.
func (o operation) begin(ctx context.Context) (run, []report.Finding, error) {
	next, err := o.decide(ctx)
	unavailable := errors.Is(err, rayapi.ErrUnreachable) || errors.Is(err, rayapi.ErrUnauthorized)
	if unavailable && ctx.Err() == nil {
		// A starting head cannot be reached yet. The preflight waits for it, or finds out why it does not
		// start or rejects the token.
		found, waitErr := o.preflight(ctx)
		switch {
		case waitErr != nil:
			return next.run(o.known), nil, errors.Join(err, waitErr)
		case len(found.refusals) > 0:
			begun := next.run(o.known)
			begun.cluster = found
			return begun, found.refusals, nil
		}
		next, err = o.decide(ctx)
	}
	begun := next.run(o.known)
	if err != nil {
		return begun, nil, err
	}
	if next.job == attempt.Lost && !next.previous.Settled {
		begun.notes = append(begun.notes, o.lost(ctx, *next.previous))
	}
	if next.action == attempt.Adopt {
		begun.head = next.head
		return o.adopt(ctx, begun, *next.previous)
	}
	if err := o.supersede(ctx, next.previous); err != nil {
		return begun, nil, err
	}
	begun.cluster, err = o.preflight(ctx)
	if err != nil || len(begun.cluster.refusals) > 0 {
		return begun, begun.cluster.refusals, err
	}
	begun.head, begun.workers = begun.cluster.head, begun.cluster.workers
	unrecorded, number, err := o.clear(ctx, begun, next)
	if err != nil {
		return begun, nil, err
	}
	begun.number = max(begun.number, number)
	if unrecorded != nil {
		if err := o.store.Save(ctx, *unrecorded); err != nil {
			return begun, nil, err
		}
		return o.adopt(ctx, begun, *unrecorded)
	}
	begun.record, err = o.submit(ctx, begun, next.previous)
	begun.number = max(begun.number, begun.record.Number)
	return begun, nil, err
}

// adopt continues an attempt whose job runs or has ended.
func (o operation) adopt(
	ctx context.Context, begun run, record attempt.Record,
) (run, []report.Finding, error) {
	begun.record = record
	begun.record.ProofHash = o.proof.Hash // that of an earlier release may be recorded
	begun.instance, begun.number = record.Instance, max(begun.number, record.Number)
	o.env.Log(ctx, fmt.Sprintf("continuing with attempt %d, job %s",
		record.Number, record.SubmissionID))
	workers, err := o.workerPods(ctx)
	begun.workers = workers
	return begun, nil, err
}

// lost reports that the head restarted since an attempt was submitted.
func (o operation) lost(ctx context.Context, record attempt.Record) report.Finding {
	found := report.Finding{
		Code: "earlier-attempt-lost", Severity: report.Warning,
		Text:  fmt.Sprintf("attempt %d, job %s, was not judged", record.Number, record.SubmissionID),
		Cause: "the Ray head restarted after the job was submitted, so the job and its evidence are lost",
		Next:  "kubectl -n " + o.in.Namespace + " describe pod -l ray.io/node-type=head (see Last State)",
	}
	o.env.Warn(ctx, found.Text+": "+found.Cause+"; the next attempt is submitted")
	return found
}

// clear stops active jobs of this resource that are not in the record, which may have been deleted
// or restored. Without a record it returns an active job of the required proof, to be adopted. It
// also returns the highest attempt number of the jobs.
func (o operation) clear(
	ctx context.Context, begun run, next decision,
) (*attempt.Record, int, error) {
	own, err := o.ownJobs(ctx, begun.head)
	if err != nil {
		return nil, 0, err
	}
	var unrecorded *attempt.Record
	newest := 0
	for _, job := range own {
		record := attempt.RecordOf(job)
		newest = max(newest, record.Number)
		switch {
		case job.Status.Final() || next.previous != nil && job.SubmissionID == next.previous.SubmissionID:
		case next.previous == nil && unrecorded == nil && record.Number > 0 &&
			o.proof.Matches(record.ProofHash) && !o.in.Expectations.RequireEFACounters:
			unrecorded = &record
		default:
			o.env.Warn(ctx, fmt.Sprintf("stopping job %s, which is running without an attempt record",
				job.SubmissionID))
			if err := o.stopJob(ctx, begun.head, job.SubmissionID); err != nil {
				return nil, 0, err
			}
		}
	}
	if unrecorded != nil {
		version, err := begun.head.Version(ctx)
		if err != nil {
			return nil, 0, err
		}
		unrecorded.Session = version.SessionName // jobs do not survive a restart of the head
		o.env.Warn(ctx, fmt.Sprintf("continuing with job %s, whose attempt record is missing",
			unrecorded.SubmissionID))
	}
	return unrecorded, newest, nil
}

// decision is what to do with the recorded attempt.
type decision struct {
	action attempt.Action
	// job is the state of the recorded job.
	job      attempt.JobState
	instance string
	// previous is the record that was found; nil for none.
	previous *attempt.Record
	head     head
}

// run returns a run for the decision, with no attempt yet.
func (d decision) run(known int) run {
	begun := run{instance: d.instance, number: known}
	if d.previous != nil {
		begun.number = max(known, d.previous.Number)
	}
	return begun
}

// decide loads the record, looks up its job in Ray and returns what to do. The instance is that of
// the resource, of an interrupted create, or a new one.
func (o operation) decide(ctx context.Context) (decision, error) {
	record, err := o.store.Load(ctx)
	if err != nil {
		return decision{instance: o.instance}, err
	}
	next := decision{action: attempt.Submit, instance: o.instance, previous: record}
	if next.instance == "" {
		next.instance = attempt.NewNonce()[:instanceLength]
		if record != nil && !record.Settled {
			next.instance = record.Instance
		}
	}
	if record == nil {
		return next, nil
	}
	job, head, err := o.jobState(ctx, *record)
	if err != nil {
		return next, err
	}
	next.job, next.head = job, head
	next.action, err = attempt.Decide(record, job, o.proof)
	if err != nil {
		return next, err
	}
	if next.action == attempt.StopThenSubmit {
		return next, o.stop(ctx, *record)
	}
	return next, nil
}

// supersede marks an attempt as settled, so that it is not adopted later if the preflight refuses
// the next one.
func (o operation) supersede(ctx context.Context, previous *attempt.Record) error {
	if previous == nil || previous.Settled {
		return nil
	}
	record := *previous
	record.Settled = true
	return o.store.Save(ctx, record)
}

// errorsAmong returns the findings of severity error.
func errorsAmong(findings []report.Finding) []report.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f report.Finding) bool { return f.Severity != report.Error })
}
