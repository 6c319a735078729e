package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

const (
	// jobPoll is the time between two looks at a running job.
	jobPoll = 2 * time.Second
	// collectFirst is when evidence is first copied from a running job, and
	// collectMost the longest time between two copies, which grows in between:
	// the files are written in the first minute, and a node may die at any time.
	collectFirst, collectMost = 15 * time.Second, 5 * time.Minute
	// silence is how long a head may not answer before the wait is given up,
	// unsettled: the next update adopts the job.
	silence = 3 * time.Minute
)

// ending is how a job ended.
type ending struct {
	job rayapi.Job
	// timedOut is true when it was stopped at its deadline, or should have been;
	// stillActive is true when it did not stop.
	timedOut, stillActive bool
}

// wait looks at the job until it is final, its deadline passes, or its head
// forgets it (a zero status). It copies evidence meanwhile.
func (r *runner) wait(ctx context.Context, collector *evidence.Collector) (ending, error) {
	started := r.env.Now()
	answered := started
	collectAt, pause := started.Add(collectFirst), collectFirst
	for {
		job, err := r.look(ctx)
		now := r.env.Now()
		switch {
		case ctx.Err() != nil:
			return ending{}, ctx.Err()
		case errors.Is(err, rayapi.ErrNotFound) || errors.Is(err, rayapi.ErrHeadRestarted):
			return ending{job: rayapi.Job{SubmissionID: r.record.SubmissionID}}, nil
		case err != nil && now.Sub(answered) > silence:
			return ending{}, fmt.Errorf("waiting for job %q: %w; `pulumi up` goes on with the same job", r.record.SubmissionID, err)
		case err == nil && job.Status.Final():
			return ending{job: job}, nil
		case err == nil:
			answered = now
			if job.StartTime > 0 { // an adopted job started earlier
				if began := time.UnixMilli(job.StartTime); began.Before(started) {
					started = began
				}
			}
			r.env.Log(ctx, progress(job, now.Sub(started)))
		}
		if now.Sub(started) >= time.Duration(r.in.DeadlineSeconds)*time.Second {
			return r.stopAtDeadline(ctx)
		}
		if !now.Before(collectAt) {
			// What is missing now may come, and is an error only at the end.
			_ = collector.Collect(ctx) //nolint:errcheck // see above
			pause = min(2*pause, collectMost)
			collectAt = now.Add(pause)
		}
		if err := r.env.Sleep(ctx, jobPoll); err != nil {
			return ending{}, err
		}
	}
}

// look reads the job, of the head's recorded life only.
func (r *runner) look(ctx context.Context) (rayapi.Job, error) {
	if err := r.ray.CheckSession(ctx, r.record.Session); err != nil {
		return rayapi.Job{}, err
	}
	return r.ray.Job(ctx, r.record.SubmissionID)
}

func (r *runner) stopAtDeadline(ctx context.Context) (ending, error) {
	r.env.Log(ctx, fmt.Sprintf("stopping job %s at its deadline of %d s", r.record.SubmissionID, r.in.DeadlineSeconds))
	job, err := r.ray.StopAndWait(ctx, r.record.SubmissionID, stopPatience)
	if err != nil && !errors.Is(err, rayapi.ErrStillActive) {
		return ending{}, err
	}
	active := !job.Status.Final()
	// A job that ended by itself in this moment was not stopped.
	return ending{job: job, timedOut: job.Status == rayapi.Stopped || active, stillActive: active}, nil
}

func progress(job rayapi.Job, elapsed time.Duration) string {
	line := fmt.Sprintf("job %s %s, %d s", job.SubmissionID, job.Status, int(elapsed.Seconds()))
	if job.Status == rayapi.Pending && job.Message != "" {
		line += ": " + job.Message
	}
	return line
}

// jobEnvironment is what the job is given. It holds no secret: Ray shows it.
func jobEnvironment(in Inputs, record attempt.Record) (map[string]string, error) {
	// jobs/train/CONTRACT.md explains RAYTRAIN_CONFIG.
	values := map[string]any{
		"worldSize": in.Expectations.WorldSize, "nodes": in.Expectations.Nodes,
		"gpusPerNode": in.Expectations.GPUsPerNode,
	}
	for _, option := range in.Training.Options() {
		values[option.Name] = option.Value
	}
	config, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the job's configuration: %w", err)
	}
	environment := map[string]string{
		"RAYTRAIN_SUBMISSION_ID": record.SubmissionID,
		"RAYTRAIN_NONCE":         record.Nonce,
		"RAYTRAIN_ATTEMPT":       strconv.Itoa(record.Number),
		"RAYTRAIN_CONFIG":        string(config),
		// Ray would show other ranks' equal lines once, and colour them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	maps.Copy(environment, in.Environment)
	return environment, nil
}
