package verdict_test

import (
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEdges checks that both ends of a connection make one edge, and that an end
// whose peer is silent makes one too.
func TestEdges(t *testing.T) {
	t.Parallel()
	second := without("[send]")(provenRank(1))
	result, err := nccl.Judge(t.Context(), []nccl.Source{
		nccl.BytesSource("rank0.log", logOf(0, provenRank(0))), nccl.BytesSource("rank1.log", logOf(1, second)),
	}, nccl.Options{})
	require.NoError(t, err)
	assert.Equal(t, []report.Edge{
		{From: 0, To: 1, Transport: "NET/Libfabric", Channels: 1, Traffic: report.TrafficEFA},
		{From: 1, To: 0, Transport: "NET/Libfabric", Channels: 1, Traffic: report.TrafficEFA},
	}, result.Edges)
}
