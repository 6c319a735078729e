package verdict_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordedLogs states the true verdict of every log that was recorded on
// real GPUs, and the findings that must explain it.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		paths []string
		want  report.Verdict
		codes []finding.Code
		not   []finding.Code
	}{
		{"p2p-one-node", nil, report.Inconclusive, []finding.Code{finding.NoInterNode}, []finding.Code{finding.OtherNetwork}},
		{"socket-two-hosts-nonet", nil, report.NotEFA, []finding.Code{finding.OtherNetwork, finding.PluginNotFound, finding.HostsShareName}, nil},
		{"plugin-missing", nil, report.NotEFA, []finding.Code{finding.OtherNetwork, finding.PluginNotFound, finding.BootstrapOnLoopback}, nil},
		{"plugin-missing-pinned", nil, report.Inconclusive, []finding.Code{finding.PinnedNetworkAbsent, finding.PluginNotFound, finding.NoInterNode}, nil},
		{"ofi-efa-missing-device", nil, report.NotEFA, []finding.Code{finding.OtherNetwork, finding.NoEligibleProvider, finding.EFADeviceMissing, finding.PluginInitFailed}, []finding.Code{finding.PinnedNetworkAbsent}},
		{"ofi-efa-missing-pinned", nil, report.Inconclusive, []finding.Code{finding.PinnedNetworkAbsent, finding.NoEligibleProvider, finding.EFADeviceMissing}, nil},
		{"ofi-over-tcp", nil, report.NotEFA, []finding.Code{finding.ProviderNotEFA}, []finding.Code{finding.NoEligibleProvider, finding.PluginInitFailed, finding.OtherNetwork}},
		{"timestamps", nil, report.NotEFA, []finding.Code{finding.OtherNetwork}, nil},
		{"debug-warn", nil, report.Inconclusive, []finding.Code{finding.DebugTooLow}, nil},
		{"ray-socket", []string{"logs"}, report.NotEFA, []finding.Code{finding.OtherNetwork}, []finding.Code{finding.RayDeduplicated, finding.SeveralRuns}},
		{"ray-socket", []string{"logs/worker-5f02120798ed7c3d163394f99ccd37d49657ac9f7264f5cb20f5a4d4-02000000-2368.out", "logs/worker-94f7fb0c86a9ebc05d2b031d981e246b61ceeb72462827861f1a11c2-02000000-2369.out"}, report.NotEFA, []finding.Code{finding.OtherNetwork}, nil},
		{"ray-socket", []string{"logs/job-driver-raysubmit_16CpfC7Vde9nPRgs.log"}, report.Inconclusive, []finding.Code{finding.RayDeduplicated}, nil},
		{"pinned-over-tcp", nil, report.NotEFA, []finding.Code{finding.ProviderNotEFA}, nil},
		{"plugin-against-socket", nil, report.NotEFA, []finding.Code{finding.TwoNetworks, finding.MagicFlood, finding.NeverConnected, finding.ProviderNotEFA, finding.OtherNetwork}, nil},
	}
	for _, tt := range tests {
		paths := []string{filepath.Join("../../testdata/nccl-logs", tt.name)}
		if tt.paths != nil {
			paths = nil
			for _, p := range tt.paths {
				paths = append(paths, filepath.Join("../../testdata/nccl-logs", tt.name, p))
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect(paths, nil)
			require.NoError(t, err)
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, result.Verdict)
			var codes []string
			for _, f := range result.Findings {
				codes = append(codes, f.Code)
				assert.NotEmpty(t, f.Cause, f.Code)
				assert.NotEmpty(t, f.Next, f.Code)
			}
			for _, c := range tt.codes {
				assert.True(t, slices.Contains(codes, c.String()), "%s is missing from %v", c, codes)
			}
			for _, c := range tt.not {
				assert.False(t, slices.Contains(codes, c.String()), "%s is in %v", c, codes)
			}
		})
	}
}
