package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// The image's CUDA, 13.0, and the oldest driver that serves it. KubeRay replaces
// the image's entrypoint, which would put CUDA's forward-compatible libraries
// before an older driver's, so the driver itself must be new enough, or libcuda
// be shown to serve that CUDA all the same.
//
// Source: CUDA toolkit 13.0 release notes, "CUDA Toolkit and Minimum Required
// Driver Version for CUDA Minor Version Compatibility": 580 or later.
const (
	cudaMajor   = 13
	driverMajor = 580
)

// Wanted says which answers decide.
type Wanted struct {
	// Namespace is that of the pods, for the commands that findings name.
	Namespace string
	// EFA is true when a pod without EFA, or without an answer, must be refused.
	EFA bool
	// CUDA is true when the job computes on GPUs.
	CUDA bool
}

// Check turns one pod's answers into findings. An unknown answer is never a pass
// where the settings ask, and a note elsewhere.
func Check(pod string, result Result, want Wanted) []jobs.Finding {
	var found []jobs.Finding
	add := func(severity, code, text, cause, command string) {
		found = append(found, jobs.Finding{
			Code: code, Severity: severity, Text: "pod " + pod + ": " + text, Cause: cause,
			Next: fmt.Sprintf("kubectl -n %s exec %s -- %s", want.Namespace, pod, command),
		})
	}
	switch result.FIInfo {
	case jobs.Found:
	case jobs.Missing:
		add(severity(want.EFA, "warning"), "fi-info-no-efa", "fi_info -p efa: no data available",
			"libfabric finds no EFA device that it can open in the pod", "sh -c 'fi_info -p efa; ls -l /dev/infiniband'")
	default:
		add(severity(want.EFA, "note"), "fi-info-unknown", "fi_info -p efa gave no answer",
			"the image has no fi_info, or the pod ran no command", "fi_info -p efa")
	}
	if !want.CUDA {
		return found
	}
	switch enough, known := driverSuffices(result); {
	case !known:
		add("note", "driver-unknown", "nvidia-smi gave no driver version", "the pod has no GPU, or ran no command", "nvidia-smi")
	case !enough:
		add("error", "driver-too-old",
			fmt.Sprintf("NVIDIA driver %s, serving CUDA %s; wanted driver %d or CUDA %d", orUnknown(result.DriverVersion),
				orUnknown(result.CUDAVersion), driverMajor, cudaMajor),
			"the nodes' AMI is older than the image's CUDA, and KubeRay's entrypoint loads no compatible libcuda",
			"nvidia-smi; then pulumi config set --path gpu.amiRelease with a newer release")
	}
	return found
}

func severity(asked bool, otherwise string) string {
	if asked {
		return "error"
	}
	return otherwise
}

func orUnknown(text string) string {
	if text == "" {
		return jobs.Unknown
	}
	return text
}

// driverSuffices compares what is known; either version is enough.
func driverSuffices(result Result) (enough, known bool) {
	driver, driverKnown := numbers(result.DriverVersion)
	cuda, cudaKnown := numbers(result.CUDAVersion)
	enough = driverKnown && driver[0] >= driverMajor || cudaKnown && cuda[0] >= cudaMajor
	return enough, driverKnown || cudaKnown
}

// numbers reads a dotted version.
func numbers(version string) ([]int, bool) {
	var list []int
	for part := range strings.SplitSeq(strings.TrimSpace(version), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}
