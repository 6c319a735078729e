package preflight

import (
	"context"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// ProbeScript reads facts in a worker pod: whether libfabric finds an EFA device, and which NVIDIA
// driver the node runs. The provider runs it, not the training script. For each fact it prints a
// line "== NAME", the program's output, and a line "== exit STATUS". AWS's images keep fi_info in
// /opt/amazon/efa/bin, which is not on every PATH. nvidia-smi's header shows the newest CUDA
// version that the loaded libcuda supports, including a forward-compatible one.
//
// Source: EC2 user guide, "Get started with EFA and NCCL", on `fi_info -p efa`;
// nvidia-smi(1).
const ProbeScript = `PATH="$PATH:/opt/amazon/efa/bin"
echo "== fi_info"; fi_info -p efa 2>&1; echo "== exit $?"
echo "== driver"; nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1; echo "== exit $?"
echo "== cuda"; nvidia-smi 2>&1; echo "== exit $?"`

// torchScript prints the CUDA version that torch was built with. It takes seconds, so it runs only
// for a job that computes on GPUs.
const torchScript = `
echo "== torch"; python -c 'import torch; print(torch.version.cuda)' 2>&1; echo "== exit $?"`

// ProbeResult holds the results of one pod.
type ProbeResult struct {
	FIInfo jobs.FIInfo
	// DriverVersion and CUDAVersion are the driver's, TorchCUDA is what the image requires; each is
	// empty when unknown.
	DriverVersion, CUDAVersion, TorchCUDA string
}

// Exec runs a command in a pod.
type Exec func(ctx context.Context, pod string, command []string) (string, error)

// Probe runs the probe in one pod; cuda adds what a job on GPUs requires. If the command fails, all
// results are unknown.
func Probe(ctx context.Context, exec Exec, pod string, cuda bool) (ProbeResult, error) {
	script := ProbeScript
	if cuda {
		script += torchScript
	}
	output, err := exec(ctx, pod, []string{"sh", "-c", script})
	if err != nil {
		return ProbeResult{FIInfo: jobs.FIInfoUnknown}, err
	}
	return ParseProbe(output), nil
}

// ParseProbe parses ProbeScript's output.
func ParseProbe(output string) ProbeResult {
	answers := sections(output)
	result := ProbeResult{FIInfo: jobs.FIInfoUnknown}
	switch answer := answers["fi_info"]; {
	case answer.exit == "0" && strings.Contains(answer.text, "provider: efa"):
		result.FIInfo = jobs.FIInfoEFA
	case answer.exit != "" && strings.Contains(answer.text, "fi_getinfo: -61"):
		// FI_ENODATA: libfabric works but has no such provider.
		result.FIInfo = jobs.FIInfoNone
	}
	if answer := answers["driver"]; answer.exit == "0" {
		// One line for each GPU, all of one driver.
		first, _, _ := strings.Cut(strings.TrimSpace(answer.text), "\n")
		result.DriverVersion = version(first)
	}
	if answer := answers["torch"]; answer.exit == "0" {
		result.TorchCUDA = version(answer.text)
	}
	if answer := answers["cuda"]; answer.exit == "0" {
		if _, after, ok := strings.Cut(answer.text, "CUDA Version:"); ok {
			if words := strings.Fields(after); len(words) > 0 {
				result.CUDAVersion = version(words[0])
			}
		}
	}
	return result
}

// version returns a dotted version without spaces around it; empty when text is none.
func version(text string) string {
	if _, ok := numbers(text); !ok {
		return ""
	}
	return strings.TrimSpace(text)
}

type answer struct{ text, exit string }

func sections(output string) map[string]answer {
	found := map[string]answer{}
	name := ""
	for line := range strings.Lines(output) {
		mark, isMark := strings.CutPrefix(strings.TrimSpace(line), "== ")
		current := found[name]
		switch status, isExit := strings.CutPrefix(mark, "exit "); {
		case !isMark:
			current.text += line
			found[name] = current
		case isExit:
			current.exit = status
			found[name] = current
		default:
			name = mark
		}
	}
	return found
}
