package preflight

import (
	"context"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// ProbeScript asks a worker pod what it has: whether libfabric finds an EFA device, and which
// NVIDIA driver the node runs. The provider runs it, not the script that is being judged. For each
// question it prints a line "== NAME", the program's output, and a line "== exit STATUS". AWS's
// images keep fi_info in /opt/amazon/efa/bin, which is not on every PATH. nvidia-smi's header names
// the newest CUDA that the loaded libcuda supports, a forward-compatible one included.
//
// Source: EC2 user guide, "Get started with EFA and NCCL", on `fi_info -p efa`;
// nvidia-smi(1).
const ProbeScript = `PATH="$PATH:/opt/amazon/efa/bin"
echo "== fi_info"; fi_info -p efa 2>&1; echo "== exit $?"
echo "== driver"; nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1; echo "== exit $?"
echo "== cuda"; nvidia-smi 2>&1; echo "== exit $?"`

// torchScript asks for the CUDA that the image's torch was built with. It takes seconds, so it runs
// only for a job that computes on GPUs.
const torchScript = `
echo "== torch"; python -c 'import torch; print(torch.version.cuda)' 2>&1; echo "== exit $?"`

// ProbeResult is one pod's answers.
type ProbeResult struct {
	FIInfo jobs.FIInfo
	// DriverVersion and CUDAVersion are the driver's, TorchCUDA is what the image requires; each is
	// empty when unknown.
	DriverVersion, CUDAVersion, TorchCUDA string
}

// Exec runs a command in a pod.
type Exec func(ctx context.Context, pod string, command []string) (string, error)

// Probe asks one pod; cuda adds what a job on GPUs requires. When the command fails, everything is
// unknown.
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
		// FI_ENODATA: libfabric works and has no such provider to offer.
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
