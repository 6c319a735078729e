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
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

var errForeignJob = errors.New("another client submitted a job with this id")

// submit saves the record of the next attempt and then submits its job, so that the job can be
// found after an interruption. It returns the saved record even with an error.
func (o operation) submit(
	ctx context.Context, begun run, previous *attempt.Record,
) (attempt.Record, error) {
	record := attempt.Next(previous, begun.number, begun.instance, o.name, o.proof.Hash)
	// Stored in the record for an update that adopts the job.
	record.Counters = preflight.ReadCounters(ctx, o.exec, begun.workers)
	uri, err := begun.head.EnsurePackage(ctx, o.env.Code)
	if err != nil {
		return attempt.Record{}, err
	}
	environment, err := o.jobEnvironment(record)
	if err != nil {
		return attempt.Record{}, err
	}
	// Read the session as late as possible: if the head restarts after this, the job is lost.
	version, err := begun.head.Version(ctx)
	if err != nil {
		return attempt.Record{}, err
	}
	record.Session = version.SessionName
	if err := o.store.Save(ctx, record); err != nil {
		return attempt.Record{}, err
	}
	job, err := begun.head.Submit(ctx, rayapi.Submission{
		ID: record.SubmissionID, Entrypoint: o.env.Entrypoint,
		RuntimeEnv: rayapi.RuntimeEnv{WorkingDir: uri, EnvVars: environment},
		Metadata: map[string]string{
			attempt.MetadataNonce: record.Nonce, attempt.MetadataProof: o.proof.Hash,
			attempt.MetadataInstance: record.Instance, attempt.MetadataName: o.name,
			attempt.MetadataNumber: strconv.Itoa(record.Number),
		},
	})
	if err != nil {
		return record, err
	}
	if job.Metadata[attempt.MetadataNonce] != record.Nonce {
		return record, fmt.Errorf("submitting job %q: %w; next: pulumi up (starts a new attempt)",
			record.SubmissionID, errForeignJob)
	}
	o.env.Log(ctx, fmt.Sprintf("submitted attempt %d, job %s", record.Number, record.SubmissionID))
	return o.confirmSession(ctx, begun.head, record)
}

// confirmSession records the session that the job was submitted to, when the head restarted between
// reading the session and the submission. Otherwise a running job would be treated as lost.
func (o operation) confirmSession(
	ctx context.Context, ray head, record attempt.Record,
) (attempt.Record, error) {
	version, err := ray.Version(ctx)
	if err != nil || version.SessionName == record.Session {
		return record, err
	}
	record.Session = version.SessionName
	return record, o.store.Save(ctx, record)
}

// jobEnvironment returns the job's environment variables. None is a secret: Ray shows them.
func (o operation) jobEnvironment(record attempt.Record) (map[string]string, error) {
	in := o.in
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
		// Later than the gate's own stop; it applies if no gate is running.
		"RAYTRAIN_DEADLINE_SECONDS": strconv.Itoa(in.DeadlineSeconds + int(2*follow.StopTimeout/time.Second)),
		// By default Ray shows equal lines of several ranks once, and colors them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	maps.Copy(environment, in.Environment)
	return environment, nil
}
