package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Keys of a job's metadata, beside attempt.MetadataNonce.
const (
	metadataProof    = "raytrain-proof"
	metadataInstance = "raytrain-instance"
)

var errForeignJob = errors.New("another client submitted a job with this id")

// submit records the next attempt, then starts its job: whatever is killed after that can be found
// again. It returns the record as soon as it is saved, also with an error.
func (o operation) submit(ctx context.Context, next decision, cluster surroundings) (attempt.Record, error) {
	record := attempt.Next(next.previous, o.known, next.instance, o.name, o.proof.Hash)
	version, err := cluster.head.Version(ctx)
	if err != nil {
		return attempt.Record{}, err
	}
	record.Session = version.SessionName
	// In the record, because whoever adopts the job needs them.
	record.Counters = preflight.ReadCounters(ctx, o.exec, cluster.workers)
	if err := o.store.Save(ctx, record); err != nil {
		return attempt.Record{}, err
	}
	uri, err := cluster.head.EnsurePackage(ctx, o.env.Code)
	if err != nil {
		return record, err
	}
	environment, err := jobEnvironment(o.in, record)
	if err != nil {
		return record, err
	}
	job, err := cluster.head.Submit(ctx, rayapi.Submission{
		ID: record.SubmissionID, Entrypoint: o.env.Entrypoint,
		RuntimeEnv: rayapi.RuntimeEnv{WorkingDir: uri, EnvVars: environment},
		Metadata: map[string]string{
			attempt.MetadataNonce: record.Nonce, metadataProof: o.proof.Hash, metadataInstance: next.instance,
		},
	})
	if err != nil {
		return record, err
	}
	if attempt.Classify(record, &job) == attempt.Foreign {
		return record, fmt.Errorf("submitting job %q: %w; next: pulumi up, which takes the next number",
			record.SubmissionID, errForeignJob)
	}
	o.env.Log(ctx, fmt.Sprintf("submitted attempt %d, job %s", record.Number, record.SubmissionID))
	return record, nil
}

// jobEnvironment returns the job's environment variables. None is a secret: Ray shows them.
func jobEnvironment(in jobs.Inputs, record attempt.Record) (map[string]string, error) {
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
		// By default Ray shows equal lines of several ranks once, and colors them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	maps.Copy(environment, in.Environment)
	return environment, nil
}
