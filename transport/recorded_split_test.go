package transport_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/transport"
)

// TestRecordedSplitAndPointToPoint states the true verdict of the second set
// of recordings: split communicators, point-to-point only, masks, restarts.
func TestRecordedSplitAndPointToPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want transport.Verdict
		code transport.Code
	}{
		{"split", transport.NotEFA, transport.OtherNetwork},
		{"split-unused", transport.NotEFA, transport.OtherNetwork},
		{"split-only", transport.NotEFA, transport.OtherNetwork},
		{"eager-unused", transport.Inconclusive, transport.NoTraffic},
		{"sendrecv", transport.NotEFA, transport.OtherNetwork},
		{"batch-p2p", transport.NotEFA, transport.OtherNetwork},
		{"two-groups", transport.NotEFA, transport.OtherNetwork},
		{"reinit", transport.NotEFA, transport.OtherNetwork},
		{"many", transport.NotEFA, transport.OtherNetwork},
		{"killed", transport.NotEFA, transport.OtherNetwork},
		{"late", transport.NotEFA, transport.OtherNetwork},
		{"net-one-host", transport.NotEFA, transport.OtherNetwork},
		{"shm-one-host", transport.Inconclusive, transport.NoInterNode},
		{"subsys-net", transport.NotEFA, transport.OtherNetwork},
		{"subsys-init", transport.NotEFA, transport.OtherNetwork},
		{"ifname-wrong", transport.Inconclusive, transport.NoInterNode},
		{"pinned-ib", transport.Inconclusive, transport.PinnedNetworkAbsent},
		{"pinned-libfabric", transport.Inconclusive, transport.PinnedNetworkAbsent},
		{"plugin-missing", transport.NotEFA, transport.PluginNotFound},
		{"debug-version", transport.Inconclusive, transport.DebugTooLow},
		{"timestamps-default", transport.NotEFA, transport.OtherNetwork},
		{"tree", transport.NotEFA, transport.OtherNetwork},
		{"pxn", transport.NotEFA, transport.OtherNetwork},
		{"stdout-files", transport.NotEFA, transport.OtherNetwork},
		{"torchrun-tee", transport.Inconclusive, transport.NoInterNode},
		{"merged", transport.NotEFA, transport.OtherNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := transport.Collect([]string{filepath.Join("testdata/nccl-logs-split-and-p2p", tt.name)}, nil)
			require.NoError(t, err)
			report, err := transport.Judge(t.Context(), sources, transport.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, report.Verdict)
			codes := make([]string, 0, len(report.Findings))
			for _, f := range report.Findings {
				codes = append(codes, f.Code)
			}
			assert.True(t, slices.Contains(codes, tt.code.String()), "%s is missing from %v", tt.code, codes)
		})
	}
}
