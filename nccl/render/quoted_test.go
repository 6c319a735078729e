package render_test

import (
	"bytes"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReportsAreNoEvidence judges logs together with a report on them and one on a run over
// sockets, in every format: what a report quotes, out of its order, must neither spoil a proof nor
// make one.
func TestReportsAreNoEvidence(t *testing.T) {
	t.Parallel()
	judge := func(sources []nccl.Source) report.Report {
		result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
		require.NoError(t, err)
		return result
	}
	logs := func(fabric synth.Fabric) (sources []nccl.Source) {
		files, _ := synth.Run{
			Seed: 6, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
			Nodes: 2, GPUs: 1, Channels: 2, Trees: true, Layout: synth.PerProcess, Fabric: fabric,
		}.Generate()
		for _, f := range files {
			sources = append(sources, nccl.BytesSource(f.Name, f.Data))
		}
		return sources
	}
	for _, format := range render.Formats() {
		t.Run(format.Name, func(t *testing.T) {
			t.Parallel()
			for _, reported := range []synth.Fabric{synth.OnEFA, synth.SocketOneRankConnected} {
				var b bytes.Buffer
				require.NoError(t, format.Write(&b, judge(logs(reported)), render.Options{Proof: true}))
				require.Contains(t, b.String(), "NCCL INFO ")
				got := judge(append(logs(synth.OnEFA), nccl.BytesSource("verdict", b.Bytes())))
				assert.Equal(t, report.EFA, got.Verdict, "%+v", got.Findings)
				alone := judge([]nccl.Source{nccl.BytesSource("verdict", b.Bytes())})
				assert.Empty(t, alone.Ranks)
			}
		})
	}
}
