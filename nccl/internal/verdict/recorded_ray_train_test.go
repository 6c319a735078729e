package verdict_test

import (
	"path/filepath"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordedRayTrain states the true verdict of what the training code left on a real GPU,
// collected in full, with their manifests.
func TestRecordedRayTrain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		want  report.Verdict
		ranks int
		codes []finding.Code
	}{
		{"socket", report.NotEFA, 2, []finding.Code{finding.OtherNetwork, finding.PluginNotFound}},
		{"pinned", report.Inconclusive, 0, []finding.Code{finding.PinnedNetworkAbsent, finding.PluginNotFound, finding.NoInterNode}},
		{"pinned-restarted", report.Inconclusive, 0, []finding.Code{finding.PinnedNetworkAbsent, finding.PluginNotFound, finding.NoInterNode}},
		{"stopped", report.NotEFA, 2, []finding.Code{finding.OtherNetwork, finding.PluginNotFound}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("../../testdata/nccl-logs-ray-train", tt.name)}, nil)
			require.NoError(t, err)
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{WorldSize: 2, Nodes: 2})
			require.NoError(t, err)
			assert.Equal(t, tt.want, result.Verdict)
			assert.Len(t, result.Ranks, tt.ranks)
			codes := make([]string, 0, len(result.Findings))
			for _, f := range result.Findings {
				codes = append(codes, f.Code)
			}
			for _, code := range tt.codes {
				assert.Contains(t, codes, code.String())
			}
			// Both ranks computed on one GPU, but under their own host names.
			assert.NotContains(t, codes, finding.HostsShareName.String())
		})
	}
}

// TestRecordedDrill states the true verdict of what `raytrain drill` left on a real GPU.
func TestRecordedDrill(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]report.Verdict{
		"fallback": report.NotEFA, "pinned": report.Inconclusive, "fsdp1": report.NotEFA,
		"fsdp2": report.NotEFA, "ddp": report.NotEFA, "resumed": report.NotEFA, "killed": report.NotEFA,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("../../testdata/nccl-logs-drill", name)}, nil)
			require.NoError(t, err)
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{WorldSize: 2, Nodes: 2})
			require.NoError(t, err)
			assert.Equal(t, want, result.Verdict)
			assert.Equal(t, finding.PluginNotFound.String(), result.Findings[0].Code)
			if want == report.NotEFA {
				assert.Len(t, result.Ranks, 2)
			}
		})
	}
}
