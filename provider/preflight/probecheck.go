package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// minimumDriver returns the oldest driver for a CUDA major version; false for an unknown one. KubeRay
// replaces the image's entrypoint, which would put CUDA's forward-compatible libraries before an
// older driver's, so the driver itself must be new enough, or libcuda must support that CUDA anyway.
//
// Source: CUDA toolkit 13.0 release notes, "CUDA Toolkit and Minimum Required Driver Version for CUDA
// Minor Version Compatibility".
func minimumDriver(cudaMajor int) (int, bool) {
	driver, ok := map[int]int{11: 450, 12: 525, 13: 580}[cudaMajor]
	return driver, ok
}

// CheckProbe returns findings for the results of one pod. An unknown result is an error if the
// settings require it, else a note.
func CheckProbe(pod string, result ProbeResult, want Wanted) []report.Finding {
	var found []report.Finding
	add := func(severity report.Severity, code, text, cause, command string) {
		found = append(found, report.Finding{
			Code: code, Severity: severity, Text: "pod " + pod + ": " + text, Cause: cause,
			Next: fmt.Sprintf("kubectl -n %s exec %s -- %s", want.Namespace, pod, command),
		})
	}
	switch result.FIInfo {
	case jobs.FIInfoEFA:
	case jobs.FIInfoNone:
		add(
			severity(want.RequireFIInfo, report.Warning),
			"fi-info-no-efa",
			"fi_info -p efa: no data available",
			"libfabric finds no EFA device that it can open in the pod",
			"sh -c 'fi_info -p efa; ls -l /dev/infiniband'",
		)
	default:
		add(
			severity(want.RequireFIInfo, report.Note),
			"fi-info-unknown",
			"fi_info -p efa returned no result",
			"the image has no fi_info, or the command could not be run in the pod",
			"fi_info -p efa",
		)
	}
	if !want.CUDA {
		return found
	}
	required, imageKnown := numbers(result.TorchCUDA)
	if !imageKnown {
		add(report.Error, "image-cuda-unknown", "torch reported no CUDA version",
			"the CUDA version of the image is unknown, so the driver cannot be checked",
			"python -c 'import torch; print(torch.version.cuda)'")
		return found
	}
	switch enough, known := driverSuffices(result, required[0]); {
	case !known:
		add(report.Error, "driver-unknown", "nvidia-smi printed no driver version",
			"the pod has no GPU, or the command could not be run in it", "nvidia-smi")
	case !enough:
		add(report.Error, "driver-too-old",
			fmt.Sprintf("NVIDIA driver %s, supporting CUDA %s; the image requires CUDA %s",
				orUnknown(result.DriverVersion), orUnknown(result.CUDAVersion), result.TorchCUDA),
			"the driver of the AMI is too old for the image's CUDA version",
			"nvidia-smi")
		found[len(found)-1].Next = "pulumi config set --path gpu.amiRelease RELEASE, " +
			"with a newer release, then pulumi up"
	}
	return found
}

func severity(required bool, otherwise report.Severity) report.Severity {
	if required {
		return report.Error
	}
	return otherwise
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// driverSuffices reports whether the driver supports a CUDA major version, by its own version or by
// the CUDA that it reports, and whether either is known.
func driverSuffices(result ProbeResult, cudaMajor int) (enough, known bool) {
	driver, driverKnown := numbers(result.DriverVersion)
	cuda, cudaKnown := numbers(result.CUDAVersion)
	minimum, listed := minimumDriver(cudaMajor)
	enough = listed && driverKnown && driver[0] >= minimum || cudaKnown && cuda[0] >= cudaMajor
	return enough, driverKnown || cudaKnown
}

// numbers parses a dotted version.
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
