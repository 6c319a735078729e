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
	// Deadline is how long the job may take from its start, Pending how long it may wait for
	// resources, NoProgress how long a running job may show nothing new: its first evidence or,
	// once it has reported one, a further step. 0 means any time.
	Deadline, Pending, NoProgress time.Duration
	// GPUs is how many GPUs the cluster can ever have, GPUsPerNode how many each of its nodes. A job that
	// requests more waits forever, so it is stopped. 0 means that the cluster may grow.
	GPUs, GPUsPerNode int
	// Watch judges the evidence of the running job; nil does not. With FailFast the job is stopped
	// as soon as it can no longer become efa.
	Watch    *evidence.Watch
	FailFast bool
	Clock    evidence.Clock
	// Log shows one line of progress.
	Log func(line string)
}

// Outcome is how a job ended.
type Outcome struct {
	// Job has no status if the head no longer knows the job.
	Job rayapi.Job
	// Stopped is why Wait stopped the job; empty if it ended by itself. StillActive reports whether
	// it did not stop.
	Stopped     StopReason
	StillActive bool
	// Impossible is the request that the cluster can never meet, if the job was stopped for that.
	Impossible string
	// Started is when the job started, or Wait, if that was earlier. Waited is how long it took
	// since.
	Started time.Time
	Waited  time.Duration
}

// StopReason is why a job was stopped.
type StopReason string

// The reasons.
const (
	// AtDeadline means that the job took longer than Job.Deadline.
	AtDeadline StopReason = "deadline"
	// TooLongPending means that the job did not start within Job.Pending.
	TooLongPending StopReason = "pending"
	// WithoutProgress means that nothing changed for Job.NoProgress.
	WithoutProgress StopReason = "no-progress"
	// Impossible means that it requested more GPUs than the cluster can ever have.
	Impossible StopReason = "impossible"
	// NotEFA means that the run could no longer become efa.
	NotEFA StopReason = "not-efa"
)

// Wait polls the job until it is final, has to be stopped, or the head no longer knows it. Evidence
// is copied in the background, so that a log endpoint that hangs delays neither status nor
// deadline. When it returns, nothing uses the collector anymore. An error wraps ErrHeadUnreachable,
// or is the context's; the job is then left as it is.
func (j Job) Wait(ctx context.Context, collector *evidence.Collector) (Outcome, error) {
	copies := newCopier(ctx, j, collector)
	defer copies.stop()
	started := j.Clock.Now()
	answered := started
	var job rayapi.Job
	for {
		latest, err := j.read(ctx)
		now := j.Clock.Now()
		seen := copies.poll(now)
		switch {
		case ctx.Err() != nil:
			return Outcome{}, ctx.Err()
		case errors.Is(err, rayapi.ErrNotFound) || errors.Is(err, rayapi.ErrHeadRestarted):
			return Outcome{Job: rayapi.Job{SubmissionID: j.ID}, Started: started}, nil
		case err != nil && now.Sub(answered) > HeadTimeout:
			return Outcome{}, fmt.Errorf("waiting for job %q: %w: %w", j.ID, ErrHeadUnreachable, err)
		case err != nil:
			j.Log(fmt.Sprintf("job %s: no response for %d s: %v", j.ID, int(now.Sub(answered).Seconds()), err))
		case latest.Status.Final():
			return Outcome{Job: latest, Started: earliest(started, latest)}, nil
		default:
			job, answered, started = latest, now, earliest(started, latest)
			j.Log(progress(job, now.Sub(started), seen))
		}
		if reason := j.mustStop(job, now.Sub(started), seen); reason != "" {
			end, err := j.stop(ctx, reason, seen)
			end.Started, end.Waited = started, now.Sub(started)
			return end, err
		}
		if err := j.Clock.Sleep(ctx, jobPoll); err != nil {
			return Outcome{}, err
		}
	}
}

// mustStop returns why a job has to be stopped; "" if it may go on.
func (j Job) mustStop(job rayapi.Job, elapsed time.Duration, seen sight) StopReason {
	over := func(spent, limit time.Duration) bool { return limit > 0 && spent >= limit }
	switch {
	case over(elapsed, j.Deadline):
		return AtDeadline
	case job.Status == rayapi.Pending && over(elapsed, j.Pending):
		return TooLongPending
	case seen.impossible != "":
		return Impossible
	case j.FailFast && seen.Lost:
		return NotEFA
	// A job that left evidence and never reports its progress cannot be judged by it.
	case job.Status == rayapi.Running && (seen.Progress != nil || seen.Bytes == 0) &&
		over(seen.at.Sub(seen.moved), j.NoProgress):
		return WithoutProgress
	default:
		return ""
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

// stop stops the job.
func (j Job) stop(ctx context.Context, reason StopReason, seen sight) (Outcome, error) {
	line := fmt.Sprintf("stopping job %s (%s)", j.ID, reason)
	if reason == NotEFA && seen.Telling != nil {
		line += ": " + seen.Telling.Text
	}
	if reason == Impossible {
		line += ": " + seen.impossible
	}
	j.Log(line)
	job, err := j.Ray.StopAndWait(ctx, j.ID, StopTimeout)
	if err != nil && !errors.Is(err, rayapi.ErrStillActive) {
		return Outcome{}, err
	}
	end := Outcome{Job: job, StillActive: !job.Status.Final()}
	if end.StillActive || job.Status == rayapi.Stopped { // otherwise it ended by itself in this moment
		end.Stopped = reason
		if reason == Impossible {
			end.Impossible = seen.impossible
		}
	}
	return end, nil
}

// progress describes a running job in one line.
func progress(job rayapi.Job, elapsed time.Duration, seen sight) string {
	line := fmt.Sprintf("job %s %s, %d s", job.SubmissionID, job.Status, int(elapsed.Seconds()))
	if job.Status == rayapi.Pending && job.Message != "" {
		return line + ": " + job.Message
	}
	if seen.Progress != nil {
		line += ", " + seen.Progress.String()
	}
	if seen.Ranks > 0 {
		line += fmt.Sprintf(", %d", seen.Ranks)
		if seen.WorldSize > 0 { // otherwise any number is right
			line += fmt.Sprintf(" of %d", seen.WorldSize)
		}
		line += fmt.Sprintf(" ranks, verdict so far %s", seen.Verdict)
	}
	return line
}
