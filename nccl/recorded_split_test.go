package nccl_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordedSplitAndPointToPoint states the true verdict of the second set
// of recordings: split communicators, point-to-point only, masks, restarts.
func TestRecordedSplitAndPointToPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want report.Verdict
		code nccl.Code
	}{
		{"split", report.NotEFA, nccl.OtherNetwork},
		{"split-unused", report.NotEFA, nccl.OtherNetwork},
		{"split-only", report.NotEFA, nccl.OtherNetwork},
		{"eager-unused", report.Inconclusive, nccl.NoTraffic},
		{"sendrecv", report.NotEFA, nccl.OtherNetwork},
		{"batch-p2p", report.NotEFA, nccl.OtherNetwork},
		{"two-groups", report.NotEFA, nccl.OtherNetwork},
		{"reinit", report.NotEFA, nccl.OtherNetwork},
		{"many", report.NotEFA, nccl.OtherNetwork},
		{"killed", report.NotEFA, nccl.OtherNetwork},
		{"late", report.NotEFA, nccl.OtherNetwork},
		{"net-one-host", report.NotEFA, nccl.OtherNetwork},
		{"shm-one-host", report.Inconclusive, nccl.NoInterNode},
		{"subsys-net", report.NotEFA, nccl.OtherNetwork},
		{"subsys-init", report.NotEFA, nccl.OtherNetwork},
		{"ifname-wrong", report.Inconclusive, nccl.NoInterNode},
		{"pinned-ib", report.Inconclusive, nccl.PinnedNetworkAbsent},
		{"pinned-libfabric", report.Inconclusive, nccl.PinnedNetworkAbsent},
		{"plugin-missing", report.NotEFA, nccl.PluginNotFound},
		{"debug-version", report.Inconclusive, nccl.DebugTooLow},
		{"timestamps-default", report.NotEFA, nccl.OtherNetwork},
		{"tree", report.NotEFA, nccl.OtherNetwork},
		{"pxn", report.NotEFA, nccl.OtherNetwork},
		{"stdout-files", report.NotEFA, nccl.OtherNetwork},
		{"torchrun-tee", report.Inconclusive, nccl.NoInterNode},
		{"merged", report.NotEFA, nccl.OtherNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("testdata/nccl-logs-split-and-p2p", tt.name)}, nil)
			require.NoError(t, err)
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, result.Verdict)
			codes := make([]string, 0, len(result.Findings))
			for _, f := range result.Findings {
				codes = append(codes, f.Code)
			}
			assert.True(t, slices.Contains(codes, tt.code.String()), "%s is missing from %v", tt.code, codes)
		})
	}
}
