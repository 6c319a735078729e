package nccl_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
)

// TestRecordedSplitAndPointToPoint states the true verdict of the second set
// of recordings: split communicators, point-to-point only, masks, restarts.
func TestRecordedSplitAndPointToPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want nccl.Verdict
		code nccl.Code
	}{
		{"split", nccl.NotEFA, nccl.OtherNetwork},
		{"split-unused", nccl.NotEFA, nccl.OtherNetwork},
		{"split-only", nccl.NotEFA, nccl.OtherNetwork},
		{"eager-unused", nccl.Inconclusive, nccl.NoTraffic},
		{"sendrecv", nccl.NotEFA, nccl.OtherNetwork},
		{"batch-p2p", nccl.NotEFA, nccl.OtherNetwork},
		{"two-groups", nccl.NotEFA, nccl.OtherNetwork},
		{"reinit", nccl.NotEFA, nccl.OtherNetwork},
		{"many", nccl.NotEFA, nccl.OtherNetwork},
		{"killed", nccl.NotEFA, nccl.OtherNetwork},
		{"late", nccl.NotEFA, nccl.OtherNetwork},
		{"net-one-host", nccl.NotEFA, nccl.OtherNetwork},
		{"shm-one-host", nccl.Inconclusive, nccl.NoInterNode},
		{"subsys-net", nccl.NotEFA, nccl.OtherNetwork},
		{"subsys-init", nccl.NotEFA, nccl.OtherNetwork},
		{"ifname-wrong", nccl.Inconclusive, nccl.NoInterNode},
		{"pinned-ib", nccl.Inconclusive, nccl.PinnedNetworkAbsent},
		{"pinned-libfabric", nccl.Inconclusive, nccl.PinnedNetworkAbsent},
		{"plugin-missing", nccl.NotEFA, nccl.PluginNotFound},
		{"debug-version", nccl.Inconclusive, nccl.DebugTooLow},
		{"timestamps-default", nccl.NotEFA, nccl.OtherNetwork},
		{"tree", nccl.NotEFA, nccl.OtherNetwork},
		{"pxn", nccl.NotEFA, nccl.OtherNetwork},
		{"stdout-files", nccl.NotEFA, nccl.OtherNetwork},
		{"torchrun-tee", nccl.Inconclusive, nccl.NoInterNode},
		{"merged", nccl.NotEFA, nccl.OtherNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("testdata/nccl-logs-split-and-p2p", tt.name)}, nil)
			require.NoError(t, err)
			report, err := nccl.Judge(t.Context(), sources, nccl.Options{})
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
