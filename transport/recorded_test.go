package transport_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/transport"
)

// TestRecordedLogs states the true verdict of every log that was recorded on
// real GPUs, and the findings that must explain it.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		paths []string
		want  transport.Verdict
		codes []transport.Code
		not   []transport.Code
	}{
		{"p2p-one-node", nil, transport.Inconclusive, []transport.Code{transport.NoInterNode}, []transport.Code{transport.OtherNetwork}},
		{"socket-two-hosts-nonet", nil, transport.NotEFA, []transport.Code{transport.OtherNetwork, transport.PluginNotFound, transport.HostsShareName}, nil},
		{"plugin-missing", nil, transport.NotEFA, []transport.Code{transport.OtherNetwork, transport.PluginNotFound, transport.BootstrapOnLoopback}, nil},
		{"plugin-missing-pinned", nil, transport.Inconclusive, []transport.Code{transport.PinnedNetworkAbsent, transport.PluginNotFound, transport.NoInterNode}, nil},
		{"ofi-efa-missing-device", nil, transport.NotEFA, []transport.Code{transport.OtherNetwork, transport.NoEligibleProvider, transport.EFADeviceMissing, transport.PluginInitFailed}, []transport.Code{transport.PinnedNetworkAbsent}},
		{"ofi-efa-missing-pinned", nil, transport.Inconclusive, []transport.Code{transport.PinnedNetworkAbsent, transport.NoEligibleProvider, transport.EFADeviceMissing}, nil},
		{"ofi-over-tcp", nil, transport.NotEFA, []transport.Code{transport.ProviderNotEFA}, []transport.Code{transport.NoEligibleProvider, transport.PluginInitFailed, transport.OtherNetwork}},
		{"timestamps", nil, transport.NotEFA, []transport.Code{transport.OtherNetwork}, nil},
		{"debug-warn", nil, transport.Inconclusive, []transport.Code{transport.DebugTooLow}, nil},
		{"ray-socket", []string{"logs"}, transport.NotEFA, []transport.Code{transport.OtherNetwork}, []transport.Code{transport.RayDeduplicated, transport.SeveralRuns}},
		{"ray-socket", []string{"logs/worker-5f02120798ed7c3d163394f99ccd37d49657ac9f7264f5cb20f5a4d4-02000000-2368.out", "logs/worker-94f7fb0c86a9ebc05d2b031d981e246b61ceeb72462827861f1a11c2-02000000-2369.out"}, transport.NotEFA, []transport.Code{transport.OtherNetwork}, nil},
		{"ray-socket", []string{"logs/job-driver-raysubmit_16CpfC7Vde9nPRgs.log"}, transport.Inconclusive, []transport.Code{transport.RayDeduplicated}, nil},
		{"pinned-over-tcp", nil, transport.NotEFA, []transport.Code{transport.ProviderNotEFA}, nil},
		{"plugin-against-socket", nil, transport.NotEFA, []transport.Code{transport.TwoNetworks, transport.MagicFlood, transport.NeverConnected, transport.ProviderNotEFA, transport.OtherNetwork}, nil},
	}
	for _, tt := range tests {
		paths := []string{filepath.Join("testdata/nccl-logs", tt.name)}
		if tt.paths != nil {
			paths = nil
			for _, p := range tt.paths {
				paths = append(paths, filepath.Join("testdata/nccl-logs", tt.name, p))
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := transport.Collect(paths, nil)
			require.NoError(t, err)
			report, err := transport.Judge(t.Context(), sources, transport.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, report.Verdict)
			var codes []string
			for _, f := range report.Findings {
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
