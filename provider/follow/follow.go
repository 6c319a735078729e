// Package follow waits for a Ray job to end and copies its evidence meanwhile.
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

const (
	// HeadTimeout is how long the head may be unreachable before Wait returns an error.
	HeadTimeout = 3 * time.Minute
	// StopTimeout is how long a stop may take. The head kills a job after 3 s, but does not stop a
	// PENDING one.
	StopTimeout = 60 * time.Second

	// jobPoll is the polling interval for a running job.
	jobPoll = 2 * time.Second
	// pollTimeout is the time limit for one poll with its retries, so that a hanging head does not
	// delay the deadline.
	pollTimeout = 45 * time.Second
)

// ErrHeadUnreachable means that the head did not respond for HeadTimeout. The job may still run.
var ErrHeadUnreachable = errors.New("the Ray head did not respond for " + HeadTimeout.String())

// Job is a submitted job to wait for.
type Job struct {
	Ray *rayapi.Client
	// ID is the submission id, Session the session of the head that it was submitted to.
	ID, Session string
	// Deadline is how long the job may take from its start; 0 means any time.
	Deadline time.Duration
	Clock    evidence.Clock
	// Log shows one line of progress.
	Log func(line string)
}

// Outcome is how a job ended.
type Outcome struct {
	// Job has no status if the head no longer knows the job.
	Job rayapi.Job
	// TimedOut reports whether the deadline passed, StillActive whether the job did not stop then.
	TimedOut, StillActive bool
	// Started is when the job started, or Wait, if that was earlier.
	Started time.Time
}

// Wait polls the job until it is final, its deadline passes, or the head no longer knows it.
// Evidence is copied in the background, so that a log endpoint that hangs delays neither status nor
// deadline. When it returns, nothing uses the collector anymore. An error wraps ErrHeadUnreachable,
// or is the context's; the job is then left as it is.
func (j Job) Wait(ctx context.Context, collector *evidence.Collector) (Outcome, error) {
	copies := newCopier(ctx, collector, j.Clock.Now())
	defer copies.stop()
	started := j.Clock.Now()
	answered := started
	for {
		job, err := j.read(ctx)
		now := j.Clock.Now()
		switch {
		case ctx.Err() != nil:
			return Outcome{}, ctx.Err()
		case errors.Is(err, rayapi.ErrNotFound) || errors.Is(err, rayapi.ErrHeadRestarted):
			return Outcome{Job: rayapi.Job{SubmissionID: j.ID}, Started: started}, nil
		case err != nil && now.Sub(answered) > HeadTimeout:
			return Outcome{}, fmt.Errorf("waiting for job %q: %w: %w", j.ID, ErrHeadUnreachable, err)
		case err != nil:
			j.Log(fmt.Sprintf("job %s: no response for %d s: %v", j.ID, int(now.Sub(answered).Seconds()), err))
		case job.Status.Final():
			return Outcome{Job: job, Started: earliest(started, job)}, nil
		default:
			answered = now
			started = earliest(started, job)
			j.Log(progress(job, now.Sub(started)))
		}
		if j.Deadline > 0 && now.Sub(started) >= j.Deadline {
			end, err := j.stopAtDeadline(ctx)
			end.Started = started
			return end, err
		}
		copies.poll(now)
		if err := j.Clock.Sleep(ctx, jobPoll); err != nil {
			return Outcome{}, err
		}
	}
}

// earliest returns the job's start time, which is before this operation for an adopted job.
func earliest(started time.Time, job rayapi.Job) time.Time {
	if began := time.UnixMilli(job.StartTime); job.StartTime > 0 && began.Before(started) {
		return began
	}
	return started
}

// read reads the job, if the head is still in the recorded session.
func (j Job) read(ctx context.Context) (rayapi.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if err := j.Ray.CheckSession(ctx, j.Session); err != nil {
		return rayapi.Job{}, err
	}
	return j.Ray.Job(ctx, j.ID)
}

func (j Job) stopAtDeadline(ctx context.Context) (Outcome, error) {
	j.Log(fmt.Sprintf("stopping job %s at its deadline of %d s", j.ID, int(j.Deadline.Seconds())))
	job, err := j.Ray.StopAndWait(ctx, j.ID, StopTimeout)
	if err != nil && !errors.Is(err, rayapi.ErrStillActive) {
		return Outcome{}, err
	}
	active := !job.Status.Final()
	// A job that ended by itself in this moment was not stopped.
	return Outcome{Job: job, TimedOut: job.Status == rayapi.Stopped || active, StillActive: active}, nil
}

func progress(job rayapi.Job, elapsed time.Duration) string {
	line := fmt.Sprintf("job %s %s, %d s", job.SubmissionID, job.Status, int(elapsed.Seconds()))
	if job.Status == rayapi.Pending && job.Message != "" {
		line += ": " + job.Message
	}
	return line
}
