package probe_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/probe"
)

const healthy = `== fi_info
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

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     probe.Result
	}{
		{"healthy", healthy, probe.Result{FIInfo: jobs.Found, DriverVersion: "580.95.05", CUDAVersion: "13.0"}},
		{"no device", "== fi_info\nfi_getinfo: -61 (No data available)\n== exit 61\n", probe.Result{FIInfo: jobs.Missing}},
		{"no program", "== fi_info\nsh: 2: fi_info: not found\n== exit 127\n== driver\nsh: 3: nvidia-smi: not found\n== exit 127\n", probe.Result{FIInfo: jobs.Unknown}},
		{"another provider", "== fi_info\nprovider: tcp\n== exit 0\n", probe.Result{FIInfo: jobs.Unknown}},
		{"cut short", "== fi_info\nprovider: efa\n", probe.Result{FIInfo: jobs.Unknown}},
		{"driver does not answer", "== driver\nNVIDIA-SMI has failed\n== exit 9\n== cuda\nCUDA Version: N/A\n== exit 0\n", probe.Result{FIInfo: jobs.Unknown}},
		{"nothing", "", probe.Result{FIInfo: jobs.Unknown}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, probe.Parse(test.in))
		})
	}
}

func TestAPodThatDoesNotAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	result := probe.Run(t.Context(), func(context.Context, string, []string) (string, error) { return healthy, errors.New("gone") }, "w1")
	assert.Equal(t, probe.Result{FIInfo: jobs.Unknown}, result)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := probe.Result{FIInfo: jobs.Found, DriverVersion: "580.95.05", CUDAVersion: "13.0"}
	asked := probe.Wanted{Namespace: "ray", EFA: true, CUDA: true}
	tests := []struct {
		name           string
		in             probe.Result
		want           probe.Wanted
		code, severity string
	}{
		{"healthy", good, asked, "", ""},
		{"no EFA, asked", probe.Result{FIInfo: jobs.Missing}, probe.Wanted{EFA: true}, "fi-info-no-efa", "error"},
		{"no EFA, not asked", probe.Result{FIInfo: jobs.Missing}, probe.Wanted{}, "fi-info-no-efa", "warning"},
		{"no answer, asked", probe.Result{FIInfo: jobs.Unknown}, probe.Wanted{EFA: true}, "fi-info-unknown", "error"},
		{"no answer, not asked", probe.Result{FIInfo: jobs.Unknown}, probe.Wanted{}, "fi-info-unknown", "note"},
		{"old driver", probe.Result{FIInfo: jobs.Found, DriverVersion: "570.172.08", CUDAVersion: "12.8"}, asked, "driver-too-old", "error"},
		{"old driver, compatible libcuda", probe.Result{FIInfo: jobs.Found, DriverVersion: "570.172.08", CUDAVersion: "13.0"}, asked, "", ""},
		{"old driver, job on the CPU", probe.Result{FIInfo: jobs.Found, DriverVersion: "570.172.08"}, probe.Wanted{}, "", ""},
		{"driver unknown", probe.Result{FIInfo: jobs.Found}, asked, "driver-unknown", "note"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := probe.Check("w1", test.in, test.want)
			if test.code == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, test.code, found[0].Code)
				assert.Equal(t, test.severity, found[0].Severity)
				assert.Contains(t, found[0].Text, "w1")
				assert.NotEmpty(t, found[0].Cause)
				assert.Contains(t, found[0].Next, "kubectl -n ")
			}
		})
	}
}
