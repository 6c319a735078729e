// Package probe asks a worker pod itself what it has: whether libfabric finds an
// EFA device, and which NVIDIA driver the node runs. The provider asks, not the
// script that is being judged.
package probe

import (
	"context"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// Script prints, for each question, a line "== NAME", what the program printed,
// and a line "== exit STATUS". AWS's images keep fi_info in /opt/amazon/efa/bin,
// which is not on every PATH. nvidia-smi's header names the newest CUDA that the
// loaded libcuda serves, a forward-compatible one included.
//
// Source: EC2 user guide, "Get started with EFA and NCCL", on `fi_info -p efa`;
// nvidia-smi(1).
const Script = `PATH="$PATH:/opt/amazon/efa/bin"
echo "== fi_info"; fi_info -p efa 2>&1; echo "== exit $?"
echo "== driver"; nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1; echo "== exit $?"
echo "== cuda"; nvidia-smi 2>&1; echo "== exit $?"`

// Result is one pod's answers.
type Result struct {
	// FIInfo is jobs.Found, jobs.Missing or jobs.Unknown.
	FIInfo string
	// DriverVersion and CUDAVersion are empty when unknown.
	DriverVersion, CUDAVersion string
}

// Exec runs a command in a pod.
type Exec func(ctx context.Context, pod string, command []string) (string, error)

// Run asks one pod. A pod that does not answer leaves everything unknown.
func Run(ctx context.Context, exec Exec, pod string) Result {
	output, err := exec(ctx, pod, []string{"sh", "-c", Script})
	if err != nil {
		return Result{FIInfo: jobs.Unknown}
	}
	return Parse(output)
}

// Parse reads the script's output.
func Parse(output string) Result {
	answers := sections(output)
	result := Result{FIInfo: jobs.Unknown}
	switch answer := answers["fi_info"]; {
	case answer.exit == "0" && strings.Contains(answer.text, "provider: efa"):
		result.FIInfo = jobs.Found
	case answer.exit != "" && strings.Contains(answer.text, "fi_getinfo: -61"):
		// FI_ENODATA: libfabric works and has no such provider to offer.
		result.FIInfo = jobs.Missing
	}
	if answer := answers["driver"]; answer.exit == "0" {
		// A line for each GPU, all of one driver.
		first, _, _ := strings.Cut(strings.TrimSpace(answer.text), "\n")
		if _, ok := numbers(first); ok {
			result.DriverVersion = strings.TrimSpace(first)
		}
	}
	if answer := answers["cuda"]; answer.exit == "0" {
		if _, after, ok := strings.Cut(answer.text, "CUDA Version:"); ok {
			if words := strings.Fields(after); len(words) > 0 {
				if _, ok := numbers(words[0]); ok {
					result.CUDAVersion = words[0]
				}
			}
		}
	}
	return result
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
