package gate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
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
	expected := o.in.Expectations
	record.WorldSize, record.Nodes, record.Provider = expected.WorldSize, expected.Nodes, expected.Provider
	record.Script = o.in.Entrypoint != ""
	// Stored in the record for an update that adopts the job.
	record.Counters = preflight.ReadCounters(ctx, o.exec, begun.workers)
	entrypoint, runtimeEnv, err := o.code(ctx, begun.head, record)
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
		ID: record.SubmissionID, Entrypoint: entrypoint, RuntimeEnv: runtimeEnv,
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
