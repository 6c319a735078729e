package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

const (
	// jobPoll is the polling interval for a running job.
	jobPoll = 2 * time.Second
	// pollTimeout is the time limit for one poll with its retries, so that a hanging head does not
	// delay the deadline.
	pollTimeout = 45 * time.Second
	// collectFirst is when evidence is first copied from a running job, and collectMost the longest
	// time between two copies. The interval doubles. The files are written in the first minute, and a
	// node can fail at any time.
	collectFirst, collectMost = 15 * time.Second, 5 * time.Minute
	// headTimeout is how long the head may be unreachable before the update ends without a verdict.
	// The next update adopts the job.
	headTimeout = 3 * time.Minute
	// stopTimeout is how long a stop may take. The head kills a job after 3 s, but does not stop a
	// PENDING one.
	stopTimeout = 60 * time.Second
)

// outcome is how a job ended.
type outcome struct {
	job rayapi.Job
	// timedOut reports whether the deadline passed, stillActive whether the job did not stop then.
	timedOut, stillActive bool
	// started is when the job started, or this operation, if that was earlier.
	started time.Time
}

// wait polls the job until it is final, its deadline passes, or the head no longer knows it (zero
// status). Evidence is copied in the background, so that a log endpoint that hangs delays neither
// status nor deadline.
func (o operation) wait(
	ctx context.Context, begun run, collector *evidence.Collector,
) (outcome, error) {
	copies := newCopier(ctx, collector, o.env.Now())
	defer copies.stop()
	started := o.env.Now()
	answered := started
	for {
		job, err := begun.job(ctx)
		now := o.env.Now()
		switch {
		case ctx.Err() != nil:
			return outcome{}, ctx.Err()
		case errors.Is(err, rayapi.ErrNotFound) || errors.Is(err, rayapi.ErrHeadRestarted):
			return outcome{job: rayapi.Job{SubmissionID: begun.record.SubmissionID}, started: started}, nil
		case err != nil && now.Sub(answered) > headTimeout:
			return outcome{}, o.unreachable(ctx, begun, err)
		case err != nil:
			o.env.Log(ctx, fmt.Sprintf("job %s: no response for %d s: %v",
				begun.record.SubmissionID, int(now.Sub(answered).Seconds()), err))
		case err == nil && job.Status.Final():
			return outcome{job: job, started: earliest(started, job)}, nil
		case err == nil:
			answered = now
			started = earliest(started, job)
			o.env.Log(ctx, progress(job, now.Sub(started)))
		}
		if now.Sub(started) >= time.Duration(o.in.DeadlineSeconds)*time.Second {
			end, err := o.stopAtDeadline(ctx, begun)
			end.started = started
			return end, err
		}
		copies.poll(now)
		if err := o.env.Sleep(ctx, jobPoll); err != nil {
			return outcome{}, err
		}
	}
}

// copier copies the evidence of a running job in the background, one pass at a time.
type copier struct {
	ctx       context.Context //nolint:containedctx // it is the background work's
	cancel    context.CancelFunc
	collector *evidence.Collector
	due       time.Time
	pause     time.Duration
	// done is closed when the latest pass has ended; nil before the first.
	done chan struct{}
}

func newCopier(ctx context.Context, collector *evidence.Collector, now time.Time) *copier {
	ctx, cancel := context.WithCancel(ctx)
	return &copier{ctx: ctx, cancel: cancel, collector: collector, due: now.Add(collectFirst), pause: collectFirst}
}

// poll starts a pass if one is due and none is running.
func (c *copier) poll(now time.Time) {
	if now.Before(c.due) || !c.idle() {
		return
	}
	c.pause = min(2*c.pause, collectMost)
	c.due = now.Add(c.pause)
	done := make(chan struct{})
	c.done = done
	go func() {
		defer close(done)
		bounded(c.ctx, finishTimeout, func(ctx context.Context) {
			// Missing files are an error only at the end.
			_ = c.collector.Collect(ctx) //nolint:errcheck // see above
		})
	}()
}

func (c *copier) idle() bool {
	if c.done == nil {
		return true
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop cancels the running pass and waits for it, because the collector is not safe for concurrent
// use.
func (c *copier) stop() {
	c.cancel()
	if c.done != nil {
		<-c.done
	}
}

// unreachable returns the error for a head that was unreachable for headTimeout. If its pod runs,
// the dashboard has ended and does not restart.
func (o operation) unreachable(ctx context.Context, begun run, err error) error {
	err = fmt.Errorf("waiting for job %q: %w", begun.record.SubmissionID, err)
	running, lookErr := o.headRuns(ctx)
	switch {
	case lookErr != nil:
		return fmt.Errorf("%w (%w); next: pulumi up (continues with the same job)", err, lookErr)
	case running:
		return fmt.Errorf("%w; the head's pod is running, but its dashboard has been "+
			"unreachable for %s; "+
			"next: pulumi up (continues with the same job); if that fails again: "+
			"kubectl -n %s delete pod -l %s (KubeRay creates a new head; the job is lost)",
			err, headTimeout, o.in.Namespace, forward.HeadSelector(o.in.RayCluster))
	default:
		return fmt.Errorf("%w; no head pod runs; next: kubectl -n %s get pods, then pulumi up",
			err, o.in.Namespace)
	}
}

// earliest returns the job's start time, which is before this operation for an adopted job.
func earliest(started time.Time, job rayapi.Job) time.Time {
	if began := time.UnixMilli(job.StartTime); job.StartTime > 0 && began.Before(started) {
		return began
	}
	return started
}

// job reads the attempt's job, if the head is still in the recorded session.
func (r run) job(ctx context.Context) (rayapi.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if err := r.head.CheckSession(ctx, r.record.Session); err != nil {
		return rayapi.Job{}, err
	}
	return r.head.Job(ctx, r.record.SubmissionID)
}

func (o operation) stopAtDeadline(ctx context.Context, begun run) (outcome, error) {
	id := begun.record.SubmissionID
	o.env.Log(ctx, fmt.Sprintf("stopping job %s at its deadline of %d s", id, o.in.DeadlineSeconds))
	job, err := begun.head.StopAndWait(ctx, id, stopTimeout)
	if err != nil && !errors.Is(err, rayapi.ErrStillActive) {
		return outcome{}, err
	}
	active := !job.Status.Final()
	// A job that ended by itself in this moment was not stopped.
	return outcome{job: job, timedOut: job.Status == rayapi.Stopped || active, stillActive: active}, nil
}

func progress(job rayapi.Job, elapsed time.Duration) string {
	line := fmt.Sprintf("job %s %s, %d s", job.SubmissionID, job.Status, int(elapsed.Seconds()))
	if job.Status == rayapi.Pending && job.Message != "" {
		line += ": " + job.Message
	}
	return line
}
