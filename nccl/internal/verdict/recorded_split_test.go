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

// TestRecordedSplitAndPointToPoint states the true verdict of the second set
// of recordings: split communicators, point-to-point only, masks, restarts.
func TestRecordedSplitAndPointToPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want report.Verdict
		code finding.Code
	}{
		{"split", report.NotEFA, finding.OtherNetwork},
		{"split-unused", report.NotEFA, finding.OtherNetwork},
		{"split-only", report.NotEFA, finding.OtherNetwork},
		{"eager-unused", report.Inconclusive, finding.NoTraffic},
		{"sendrecv", report.NotEFA, finding.OtherNetwork},
		{"batch-p2p", report.NotEFA, finding.OtherNetwork},
		{"two-groups", report.NotEFA, finding.OtherNetwork},
		{"reinit", report.NotEFA, finding.OtherNetwork},
		{"many", report.NotEFA, finding.OtherNetwork},
		{"killed", report.NotEFA, finding.OtherNetwork},
		{"late", report.NotEFA, finding.OtherNetwork},
		{"net-one-host", report.NotEFA, finding.OtherNetwork},
		{"shm-one-host", report.Inconclusive, finding.NoInterNode},
		{"subsys-net", report.NotEFA, finding.OtherNetwork},
		{"subsys-init", report.NotEFA, finding.OtherNetwork},
		{"ifname-wrong", report.Inconclusive, finding.NoInterNode},
		{"pinned-ib", report.Inconclusive, finding.PinnedNetworkAbsent},
		{"pinned-libfabric", report.Inconclusive, finding.PinnedNetworkAbsent},
		{"plugin-missing", report.NotEFA, finding.PluginNotFound},
		{"debug-version", report.Inconclusive, finding.DebugTooLow},
		{"timestamps-default", report.NotEFA, finding.OtherNetwork},
		{"tree", report.NotEFA, finding.OtherNetwork},
		{"pxn", report.NotEFA, finding.OtherNetwork},
		{"stdout-files", report.NotEFA, finding.OtherNetwork},
		{"torchrun-tee", report.Inconclusive, finding.NoInterNode},
		{"merged", report.NotEFA, finding.OtherNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("../../testdata/nccl-logs-split-and-p2p", tt.name)}, nil)
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
