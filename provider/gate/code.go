package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
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
	env, err := ray.Upload(ctx, rayapi.RuntimeEnv{
		EnvVars: environment, SetupHook: script.Hook, Pip: rayapi.HashedPip(o.in.Pip),
	}, packed.Zip, hook)
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
	environment, err := train.Run{
		Config: in.Training, SubmissionID: record.SubmissionID, Nonce: record.Nonce, Attempt: record.Number,
		WorldSize: in.Expectations.WorldSize, Nodes: in.Expectations.Nodes,
		GPUsPerNode: in.Expectations.GPUsPerNode, DeadlineSeconds: int(o.ownDeadline().Seconds()),
	}.Environment()
	if err != nil {
		return nil, err
	}
	maps.Copy(environment, in.Environment)
	return environment, nil
}
