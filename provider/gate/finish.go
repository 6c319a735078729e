package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// finish waits for the job, collects its evidence, judges it, archives it and settles the attempt.
func (o operation) finish(ctx context.Context, begun run) (State, error) {
	dir, err := filepath.Abs(o.in.EvidenceDir)
	if err != nil {
		return State{}, fmt.Errorf("naming the folder of the evidence %q: %w", o.in.EvidenceDir, err)
	}
	collector := evidence.NewCollector(begun.head.Client, evidence.Copies{
		SubmissionID: begun.record.SubmissionID, Dir: dir, Token: begun.head.token,
	})
	defer func() {
		if err := collector.Close(); err != nil { // the outcome is valid
			o.env.Warn(ctx, err.Error())
		}
	}()
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
	if judgement.Report.Verdict != report.EFA || end.Job.Status != rayapi.Succeeded {
		gathered.failures = o.failures(ctx, begun, end)
	}
	state, err := o.conclude(dir, begun, end, gathered, judgement)
	if err != nil {
		return State{}, err
	}
	begun.record.Verdict, begun.record.JobStatus = state.Verdict, state.JobStatus
	// This is last, so that an update that is killed earlier judges the attempt again.
	if err := o.settle(ctx, begun.record); err != nil {
		// The verdict is still valid. The next update judges a failed attempt again instead of running a
		// new one.
		o.env.Warn(ctx, err.Error())
	}
	return state, nil
}

const (
	// settleTimeout is the time limit for saving the settled record, also after a cancelled update.
	settleTimeout = 20 * time.Second
	// settleRetries and settlePause are long enough for a restart of the API server.
	settleRetries, settlePause = 5, 2 * time.Second
)

// settle marks the attempt as judged or stopped.
func (o operation) settle(ctx context.Context, record attempt.Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for i := 0; ; i++ {
		err := o.store.Settle(ctx, record)
		if err == nil || errors.Is(err, attempt.ErrConcurrent) || i == settleRetries {
			return err
		}
		if sleepErr := o.env.Sleep(ctx, settlePause); sleepErr != nil {
			return errors.Join(sleepErr, err)
		}
	}
}

// collected is the evidence of a finished job.
type collected struct {
	files []evidence.File
	// gaps is what could not be read; nil for nothing.
	gaps error
	// log is the driver's output, for people; nil when it cannot be read.
	log *evidence.File
	// counters is nil when they could not be read.
	counters *evidence.Counters
	// failures holds findings about pods, containers and nodes that ended while the job ran.
	failures []report.Finding
}

// failures returns why ranks may be missing, according to Kubernetes and Ray.
func (o operation) failures(ctx context.Context, begun run, end follow.Outcome) []report.Finding {
	var found []report.Finding
	bounded(ctx, countersTimeout, func(ctx context.Context) {
		ended := preflight.Ended{Workers: begun.workers, Since: end.Started}
		// Otherwise the gate ended the actors, or they ended with their job.
		if end.Stopped == "" && end.Job.Status != rayapi.Succeeded {
			ended.JobID = end.Job.JobID
		}
		found = preflight.Failures(ctx, o.cluster.Kubernetes(), begun.head.Client, preflight.NewWanted(o.in), ended)
	})
	return append(found, end.RayFailure("pulumi up")...)
}

// collect reads all files again, the driver's log and the counters.
func (o operation) collect(
	ctx context.Context, begun run, end follow.Outcome, collector *evidence.Collector,
) (collected, error) {
	var gathered collected
	timeout := finishTimeout + time.Duration(o.in.Expectations.WorldSize)*rankTimeout
	bounded(ctx, timeout, func(ctx context.Context) {
		gathered.gaps = collector.Finish(ctx, evidence.Clock{Now: o.env.Now, Sleep: o.env.Sleep})
		gathered.files = collector.Files()
	})
	if errors.Is(gathered.gaps, evidence.ErrNotStored) { // the next update judges the same job
		return gathered, gathered.gaps
	}
	bounded(ctx, logTimeout, func(ctx context.Context) {
		log, err := collector.DriverLog(ctx, end.Job)
		if err != nil {
			o.env.Log(ctx, string(begun.head.redact([]byte(err.Error()))))
		}
		gathered.log = log
	})
	bounded(ctx, countersTimeout, func(ctx context.Context) { gathered.counters = o.counterIncrease(ctx, begun) })
	return gathered, ctx.Err() // incomplete evidence is not used
}

// Time limits of the parts of the collection. A log endpoint that hangs must not block the update.
const (
	// finishTimeout is for a small job, rankTimeout what each rank adds: enough for 1 MiB at 5 MB/s.
	finishTimeout   = 5 * time.Minute
	rankTimeout     = 200 * time.Millisecond
	logTimeout      = time.Minute
	countersTimeout = 2 * time.Minute
)

func bounded(ctx context.Context, timeout time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	do(ctx)
}

// judge compares the evidence with what the inputs require.
func (o operation) judge(
	ctx context.Context, begun run, end follow.Outcome, gathered collected,
) (evidence.Judgement, error) {
	run := o.evidence(begun)
	run.Status, run.Files, run.Gaps, run.Counters = end.Job.Status, gathered.files, gathered.gaps, gathered.counters
	return evidence.Judge(ctx, run)
}

// evidence returns what the evidence of a run must contain, without its files.
func (o operation) evidence(begun run) evidence.Run {
	return evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: begun.record.SubmissionID, Nonce: begun.record.Nonce,
			WorldSize: o.in.Expectations.WorldSize, Nodes: o.in.Expectations.Nodes,
		},
		Provider: o.in.Expectations.Provider, Again: "pulumi up", Script: o.in.Entrypoint != "",
		RequireEFACounters: o.in.Expectations.RequireEFACounters,
	}
}
