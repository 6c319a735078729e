package submit

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
)

// newIdentity returns the identity of a new run, whose submission id begins with the name.
func newIdentity(name string) script.Identity {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // it never returns an error
	return script.Identity{
		SubmissionID: cmp.Or(name, "raytrain") + "-" + strings.ToLower(rand.Text()[:12]),
		Nonce:        hex.EncodeToString(nonce),
	}
}

// program is what Ray runs for a job.
type program struct {
	entrypoint  string
	environment map[string]string
	// hook is called in each worker process; empty for none.
	hook string
	// code is the zip of the working directory, nil for none; modules are those of the hook.
	code    []byte
	modules [][]byte
}

// program returns what Ray runs, or an error if the job's folder, environment or training is
// invalid.
func (j Job) program(id script.Identity) (program, error) {
	if err := script.CheckRequirements(j.Requirements); err != nil {
		return program{}, err
	}
	if j.Training != nil {
		return j.training(id)
	}
	environment, err := script.Environment(id, j.Environment)
	if err != nil {
		return program{}, err
	}
	made := program{
		entrypoint:  script.Entrypoint(j.Entrypoint, ownDeadline(j.Deadline)),
		environment: environment, hook: script.Hook,
	}
	if j.WorkingDir != "" {
		packed, err := script.Pack(j.WorkingDir)
		if err != nil {
			return program{}, err
		}
		made.code = packed.Zip
	}
	hook, err := script.HookZip()
	made.modules = [][]byte{hook}
	return made, err
}

// training returns the program of the built-in training, which writes its evidence itself.
func (j Job) training(id script.Identity) (program, error) {
	if err := j.Training.Validate(); err != nil {
		return program{}, err
	}
	if err := script.CheckEnvironment(j.Environment); err != nil {
		return program{}, err
	}
	environment, err := train.Run{
		Config: *j.Training, SubmissionID: id.SubmissionID, Nonce: id.Nonce, Attempt: 1,
		WorldSize: j.WorldSize, Nodes: j.Nodes, GPUsPerNode: j.WorldSize / max(1, j.Nodes),
		DeadlineSeconds: int(ownDeadline(j.Deadline) / time.Second),
	}.Environment()
	if err != nil {
		return program{}, err
	}
	environment["NCCL_DEBUG"] = "INFO"
	maps.Copy(environment, j.Environment)
	code, err := train.Zip()
	return program{entrypoint: train.Entrypoint, environment: environment, code: code}, err
}

// ownDeadline is the time limit that the job enforces itself, if nothing waits for it anymore.
func ownDeadline(deadline time.Duration) time.Duration {
	if deadline <= 0 {
		return 0
	}
	return deadline + 2*follow.StopTimeout
}
