package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

var errFolderChanged = errors.New("the files changed while the update ran; next: pulumi up")

// code uploads what the job runs, and returns its command and runtime environment.
func (o operation) code(
	ctx context.Context, ray head, record attempt.Record,
) (string, rayapi.RuntimeEnv, error) {
	if o.in.Entrypoint != "" {
		return o.script(ctx, ray, record)
	}
	environment, err := o.trainingEnvironment(record)
	if err != nil {
		return "", rayapi.RuntimeEnv{}, err
	}
	env, err := ray.Upload(ctx, rayapi.RuntimeEnv{EnvVars: environment}, o.env.Code)
	return o.env.Entrypoint, env, err
}

// script is code for a script of the user's own. Its files must be those of the proof.
func (o operation) script(
	ctx context.Context, ray head, record attempt.Record,
) (string, rayapi.RuntimeEnv, error) {
	var packed script.Package
	if o.in.WorkingDir != "" {
		var err error
		if packed, err = script.Pack(o.in.WorkingDir); err != nil {
			return "", rayapi.RuntimeEnv{}, err
		}
		if packed.Digest != o.in.WorkingDirDigest {
			return "", rayapi.RuntimeEnv{}, fmt.Errorf("packing %q: %w", o.in.WorkingDir, errFolderChanged)
		}
	}
	hook, err := script.HookZip()
	if err != nil {
		return "", rayapi.RuntimeEnv{}, err
	}
	environment, err := script.Environment(
		script.Identity{SubmissionID: record.SubmissionID, Nonce: record.Nonce}, o.in.Environment)
	if err != nil {
		return "", rayapi.RuntimeEnv{}, err
	}
	env, err := ray.Upload(ctx, rayapi.RuntimeEnv{EnvVars: environment, SetupHook: script.Hook}, packed.Zip, hook)
	return script.Entrypoint(o.in.Entrypoint, o.ownDeadline()), env, err
}

// ownDeadline is the time limit that the job enforces itself. It is later than the gate's own stop, and
// applies if no gate is running.
func (o operation) ownDeadline() time.Duration {
	return time.Duration(o.in.DeadlineSeconds)*time.Second + 2*follow.StopTimeout
}

// trainingEnvironment returns the environment variables of the built-in training. None is a secret: Ray shows them.
func (o operation) trainingEnvironment(record attempt.Record) (map[string]string, error) {
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
		"RAYTRAIN_SUBMISSION_ID":    record.SubmissionID,
		"RAYTRAIN_NONCE":            record.Nonce,
		"RAYTRAIN_ATTEMPT":          strconv.Itoa(record.Number),
		"RAYTRAIN_CONFIG":           string(config),
		"RAYTRAIN_DEADLINE_SECONDS": strconv.Itoa(int(o.ownDeadline().Seconds())),
		// By default Ray shows equal lines of several ranks once, and colors them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	maps.Copy(environment, in.Environment)
	return environment, nil
}
