package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// operation is one create, update or delete of one resource. Its phases take what they need and
// return what they found; nothing in it changes.
type operation struct {
	env  Environment
	in   jobs.Inputs
	name string
	// instance is empty for a resource that is being created.
	instance string
	// known is the newest attempt number in the resource's state.
	known   int
	proof   attempt.Proof
	cluster Cluster
	store   *attempt.Store
}

// run is an attempt as far as an operation has come with it. Its zero value is no attempt.
type run struct {
	// instance is the resource's; empty before it is decided.
	instance string
	// number is the newest attempt number that is known.
	number int
	// record is the attempt that is worked on; zero before there is one.
	record attempt.Record
	// cluster is what the preflight found; zero for an adopted attempt.
	cluster surroundings
	head    head
	// workers are the names of the worker pods.
	workers []string
}

// proved reports whether the cluster's record is that of the state's proof.
func (o operation) proved(ctx context.Context, state State) (bool, error) {
	record, err := o.store.Load(ctx)
	if err != nil {
		return false, err
	}
	return record != nil && record.Instance == o.instance && record.Number == state.Attempt &&
		record.ProofHash == state.ProofHash, nil
}

// execute runs or adopts a job and judges it; it returns the state and the resource's instance. An
// error means that no attempt was begun. Once one is, whatever happens is in the state, so that a
// destroy can find and stop its job. A create that was interrupted before its instance was decided
// left nothing behind, and must leave no state under half an id.
func (o operation) execute(ctx context.Context) (State, string, error) {
	begun, refusals, err := o.begin(ctx)
	var state State
	switch {
	case err == nil && len(refusals) > 0:
		state = o.refusedBefore(begun, refusals)
	case err == nil:
		state, err = o.finish(ctx, begun)
	}
	switch {
	case err == nil:
		return state, begun.instance, nil
	case ctx.Err() != nil && begun.instance != "":
		return o.interrupted(begun, context.Cause(ctx)), begun.instance, nil //nolint:nilerr // the state keeps the cause
	case begun.record.SubmissionID != "":
		return o.interrupted(begun, err), begun.instance, nil
	default:
		return State{}, "", err
	}
}

// begin adopts the recorded attempt or submits the next one. With findings there is no attempt: they
// say why the job was refused.
func (o operation) begin(ctx context.Context) (run, []report.Finding, error) {
	next, err := o.decide(ctx)
	if errors.Is(err, rayapi.ErrUnreachable) && ctx.Err() == nil {
		// A head that is starting does not answer yet. The preflight waits for it, or finds out why
		// it does not start.
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
	if next.action == attempt.Adopt {
		begun.record = *next.previous
		begun.record.ProofHash = o.proof.Hash // that of an earlier release may be recorded
		begun.head = next.head
		o.env.Log(ctx, fmt.Sprintf("adopting attempt %d, job %s", begun.record.Number, begun.record.SubmissionID))
		begun.workers, err = o.workerPods(ctx)
		return begun, nil, err
	}
	if err := o.supersede(ctx, next.previous); err != nil {
		return begun, nil, err
	}
	begun.cluster, err = o.preflight(ctx)
	if err != nil || len(begun.cluster.refusals) > 0 {
		return begun, begun.cluster.refusals, err
	}
	begun.head, begun.workers = begun.cluster.head, begun.cluster.workers
	begun.record, err = o.submit(ctx, next, begun.cluster)
	begun.number = max(begun.number, begun.record.Number)
	return begun, nil, err
}

// decision is what to do with the recorded attempt.
type decision struct {
	action   attempt.Action
	instance string
	// previous is the record that was found; nil for none.
	previous *attempt.Record
	head     head
}

// run returns the run that a decision begins, with no attempt yet.
func (d decision) run(known int) run {
	begun := run{instance: d.instance, number: known}
	if d.previous != nil {
		begun.number = max(known, d.previous.Number)
	}
	return begun
}

// decide loads the record, asks Ray about its job and returns what to do. The instance is that of
// the resource, of the killed create that is taken over, or a new one.
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
	next.head = head
	next.action = attempt.Decide(record, job, o.proof)
	if next.action == attempt.StopThenSubmit {
		return next, o.stop(ctx, *record)
	}
	return next, nil
}

// supersede settles an attempt that is not continued: when the preflight refuses the next one, this
// one must not be adopted later, with its job stopped or its success old.
func (o operation) supersede(ctx context.Context, previous *attempt.Record) error {
	if previous == nil || previous.Settled {
		return nil
	}
	record := *previous
	record.Settled = true
	return o.store.Save(ctx, record)
}

// finish waits for the job, collects its evidence, judges it, archives it and settles the attempt.
func (o operation) finish(ctx context.Context, begun run) (State, error) {
	collector := evidence.NewCollector(begun.head.Client, begun.record.SubmissionID)
	end, err := o.wait(ctx, begun, collector)
	if err != nil {
		return State{}, err
	}
	gathered, err := o.collect(ctx, begun, end, collector)
	if err != nil {
		return State{}, err
	}
	judgement, err := o.judge(ctx, begun, end, gathered)
	if err != nil {
		return State{}, err
	}
	state, err := o.conclude(begun, end, gathered, judgement)
	if err != nil {
		return State{}, err
	}
	// Last: an update that is killed before this judges the attempt again.
	settled := begun.record
	settled.Settled = true
	if err := o.store.Save(ctx, settled); err != nil {
		return State{}, err
	}
	return state, nil
}

// collected is what a job that ended left behind.
type collected struct {
	files []evidence.File
	// gaps is what could not be read; nil for nothing.
	gaps error
	// log is the driver's output, for people.
	log []byte
	// counters is nil when they could not be read.
	counters *jobs.Counters
}

// collect reads every file anew, the driver's log and the counters.
func (o operation) collect(
	ctx context.Context, begun run, end outcome, collector *evidence.Collector,
) (collected, error) {
	gaps := collector.Finish(ctx, evidence.Clock{Now: o.env.Now, Sleep: o.env.Sleep})
	gathered := collected{
		files: collector.Files(), gaps: gaps, log: begun.head.driverLog(ctx, end.job),
		counters: o.countersMoved(ctx, begun),
	}
	return gathered, ctx.Err() // what was cut short is no evidence
}

// judge compares the evidence with what the inputs require.
func (o operation) judge(
	ctx context.Context, begun run, end outcome, gathered collected,
) (evidence.Judgement, error) {
	return evidence.Judge(ctx, evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: begun.record.SubmissionID, Nonce: begun.record.Nonce,
			WorldSize: o.in.Expectations.WorldSize, Nodes: o.in.Expectations.Nodes,
		},
		Provider: o.in.Expectations.Provider, Status: end.job.Status,
		Files: gathered.files, Gaps: gathered.gaps,
		Counters: gathered.counters, RequireEFACounters: o.in.Expectations.RequireEFACounters,
	})
}

// errorsAmong returns the findings of severity error.
func errorsAmong(findings []report.Finding) []report.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f report.Finding) bool { return f.Severity != report.Error })
}
