package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Host is what a Python interpreter finds on this host.
type Host struct {
	// Ray and Torch are versions; empty when the package is missing.
	Ray   string `json:"ray"`
	Torch string `json:"torch"`
	// NCCL is the version that torch has; empty without GPUs.
	NCCL string `json:"nccl"`
	// GPUs are the names of the GPUs that torch can use.
	GPUs []string `json:"gpus"`
}

const probe = `
import json
host = {"ray": "", "torch": "", "nccl": "", "gpus": []}
try:
    import ray
    host["ray"] = ray.__version__
except ImportError:
    pass
try:
    import torch
    host["torch"] = torch.__version__
    host["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if host["gpus"]:
        host["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
except ImportError:
    pass
print(json.dumps(host))
`

// Probe asks a Python interpreter for Ray, torch and GPUs.
func Probe(ctx context.Context, python string) (Host, error) {
	var host Host
	output, err := exec.CommandContext(ctx, python, "-c", probe).Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
		}
		return host, fmt.Errorf("asking %q for Ray and torch: %w", python, err)
	}
	// Packages may print before the last line.
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &host); err != nil {
		return host, fmt.Errorf("reading what %q found: %w", python, err)
	}
	return host, nil
}

// ErrHost is wrapped by the errors of Host.Check.
var ErrHost = errors.New("this host cannot run the drill")

// Check returns an error that names everything that is missing, and what to run.
func (h Host) Check(device train.Device) error {
	var problems []error
	missing := func(what, next string) {
		problems = append(problems, fmt.Errorf("%w: %s; next: %s", ErrHost, what, next))
	}
	if h.Ray == "" {
		missing("Python has no Ray", `pip install "ray[default,train]"==2.58.0, or give another --python`)
	}
	if h.Torch == "" {
		missing("Python has no torch", "pip install torch, or give another --python")
	}
	if device == train.CUDA && h.Torch != "" && len(h.GPUs) == 0 {
		missing("torch finds no GPU",
			"run it on a host with GPUs, or raytrain drill --device cpu (gloo, so no NCCL evidence)")
	}
	return errors.Join(problems...)
}
