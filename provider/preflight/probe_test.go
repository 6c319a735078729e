package preflight_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
)

const goodAnswers = `== fi_info
provider: efa
    fabric: efa
    domain: rdmap0s31-rdm
    version: 204.0
    type: FI_EP_RDM
    protocol: FI_PROTO_EFA
== exit 0
== driver
580.95.05
580.95.05
== exit 0
== cuda
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
== exit 0
`

func TestParseProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     preflight.ProbeResult
	}{
		{"healthy", goodAnswers, preflight.ProbeResult{FIInfo: jobs.FIInfoEFA, DriverVersion: "580.95.05", CUDAVersion: "13.0"}},
		{"no device", "== fi_info\nfi_getinfo: -61 (No data available)\n== exit 61\n", preflight.ProbeResult{FIInfo: jobs.FIInfoNone}},
		{"no program", "== fi_info\nsh: 2: fi_info: not found\n== exit 127\n== driver\nsh: 3: nvidia-smi: not found\n== exit 127\n", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}},
		{"another provider", "== fi_info\nprovider: tcp\n== exit 0\n", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}},
		{"cut short", "== fi_info\nprovider: efa\n", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}},
		{"driver does not answer", "== driver\nNVIDIA-SMI has failed\n== exit 9\n== cuda\nCUDA Version: N/A\n== exit 0\n", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}},
		{"nothing", "", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, preflight.ParseProbe(test.in))
		})
	}
}

func TestAPodThatDoesNotAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	result, err := preflight.Probe(t.Context(), func(context.Context, string, []string) (string, error) { return goodAnswers, errors.New("gone") }, "w1", true)
	require.Error(t, err)
	assert.Equal(t, preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}, result)
}

func driver(version, cuda, torch string) preflight.ProbeResult {
	return preflight.ProbeResult{
		FIInfo: jobs.FIInfoEFA, DriverVersion: version, CUDAVersion: cuda, TorchCUDA: torch,
	}
}

func TestCheckProbe(t *testing.T) {
	t.Parallel()
	good := preflight.ProbeResult{
		FIInfo: jobs.FIInfoEFA, DriverVersion: "580.95.05", CUDAVersion: "13.0", TorchCUDA: "13.0",
	}
	asked := preflight.Wanted{Namespace: "ray", RequireFIInfo: true, CUDA: true}
	tests := []struct {
		name     string
		in       preflight.ProbeResult
		want     preflight.Wanted
		code     string
		severity report.Severity
	}{
		{"healthy", good, asked, "", ""},
		{"no EFA, asked", preflight.ProbeResult{FIInfo: jobs.FIInfoNone}, preflight.Wanted{RequireFIInfo: true}, "fi-info-no-efa", "error"},
		{"no EFA, not asked", preflight.ProbeResult{FIInfo: jobs.FIInfoNone}, preflight.Wanted{}, "fi-info-no-efa", "warning"},
		{"no answer, asked", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}, preflight.Wanted{RequireFIInfo: true}, "fi-info-unknown", "error"},
		{"no answer, not asked", preflight.ProbeResult{FIInfo: jobs.FIInfoUnknown}, preflight.Wanted{}, "fi-info-unknown", "note"},
		{"old driver", driver("570.172.08", "12.8", "13.0"), asked, "driver-too-old", report.Error},
		{"old driver, compatible libcuda", driver("570.172.08", "13.0", "13.0"), asked, "", ""},
		{"old driver, image of its CUDA", driver("570.172.08", "12.8", "12.6"), asked, "", ""},
		{"new driver, image of a CUDA that is not listed", driver("580.95.05", "13.0", "14.0"), asked, "driver-too-old", report.Error},
		{"old driver, job on the CPU", driver("570.172.08", "", ""), preflight.Wanted{}, "", ""},
		{"driver unknown", driver("", "", "13.0"), asked, "driver-unknown", report.Error},
		{"image's CUDA unknown", driver("580.95.05", "13.0", ""), asked, "image-cuda-unknown", report.Error},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := preflight.CheckProbe("w1", test.in, test.want)
			if test.code == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, test.code, found[0].Code)
				assert.Equal(t, test.severity, found[0].Severity)
				assert.Contains(t, found[0].Text, "w1")
				assert.NotEmpty(t, found[0].Cause)
				assert.Regexp(t, "kubectl -n |pulumi config set ", found[0].Next)
			}
		})
	}
}
