package standin

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
)

// TestProgramsAnswerTheProvidersProbe runs the provider's own script against the stand-ins, in pods
// that differ in what they were given.
func TestProgramsAnswerTheProvidersProbe(t *testing.T) {
	t.Parallel()
	programs := Programs(Folder(checkout(t)))
	tests := []struct {
		name   string
		node   nodefacts.Facts
		device bool
		gpus   string
		defect Defect
		want   preflight.ProbeResult
	}{
		{"a whole pod", nodefacts.Facts{DriverVersion: "580.1.2"}, true, "0,1", "",
			preflight.ProbeResult{FIInfo: jobs.FIInfoEFA, DriverVersion: "580.1.2", CUDAVersion: "13.0"}},
		{"no device in the pod", nodefacts.Facts{EFAInterfaces: 1, DriverVersion: "580.1.2"}, false,
			"0", "", preflight.ProbeResult{FIInfo: jobs.FIInfoNone, DriverVersion: "580.1.2", CUDAVersion: "13.0"}},
		{"a device that does not open", nodefacts.Facts{DeviceBroken: true}, true, "0", "",
			preflight.ProbeResult{FIInfo: jobs.FIInfoNone}},
		{"another driver", nodefacts.Facts{DriverVersion: "570.9"}, true, "0", "",
			preflight.ProbeResult{FIInfo: jobs.FIInfoEFA, DriverVersion: "570.9"}},
		{"a defect of the driver", nodefacts.Facts{DriverVersion: "580.1.2"}, true, "0", OldDriver,
			preflight.ProbeResult{FIInfo: jobs.FIInfoEFA, DriverVersion: "570.133.20"}},
		{"a defect of libfabric", nodefacts.Facts{DriverVersion: "580.1.2"}, true, "0", NoFabric,
			preflight.ProbeResult{FIInfo: jobs.FIInfoNone, DriverVersion: "580.1.2", CUDAVersion: "13.0"}},
		{"no GPU in the pod", nodefacts.Facts{DriverVersion: "580.1.2"}, true, "void", "",
			preflight.ProbeResult{FIInfo: jobs.FIInfoEFA}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := t.TempDir()
			facts := filepath.Join(pod, "run", "raytrain-rehearsal")
			require.NoError(t, os.MkdirAll(facts, 0o755))
			require.NoError(t, test.node.Write(facts))
			require.NoError(t, WriteDefect(facts, test.defect))
			if test.device {
				require.NoError(t, os.MkdirAll(filepath.Join(pod, "dev", "infiniband"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(pod, "dev", "infiniband", "uverbs0"),
					nil, 0o600))
			}
			command := exec.CommandContext(t.Context(), "sh", "-c", preflight.ProbeScript)
			command.Env = []string{
				"PATH=" + programs + ":/usr/bin:/bin", "RAYTRAIN_REHEARSAL_ROOT=" +
					pod, "NVIDIA_VISIBLE_DEVICES=" + test.gpus,
			}
			output, err := command.CombinedOutput()
			require.NoError(t, err, string(output))
			assert.Equal(t, test.want, preflight.ParseProbe(string(output)), string(output))
		})
	}
}
