package nccl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Channels that never connect: the model does not keep their text.
func TestFindingsQuoteTheirLine(t *testing.T) {
	t.Parallel()
	var sources []nccl.Source
	for rank := range 2 {
		host := fmt.Sprintf("node%d:%d:%d [0] NCCL INFO ", rank, 10+rank, 10+rank)
		sources = append(sources, nccl.BytesSource(fmt.Sprintf("rank%d.log", rank), []byte(strings.Join([]string{
			"epoch 1, a line of the training",
			host + fmt.Sprintf("Bootstrap: Using eth0:10.0.0.%d<0>", 1+rank),
			host + "NCCL version 2.28.9+cuda13.0",
			host + "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
			host + "Using network Libfabric",
			host + fmt.Sprintf("ncclCommInitRankConfig comm 0x%d rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0xabc - Init START", 1+rank, rank),
			host + fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Libfabric/0\x1b[0m", rank, 1-rank),
		}, "\n")+"\n")))
	}
	got, err := nccl.Judge(t.Context(), sources, nccl.Options{})
	require.NoError(t, err)
	assert.NotEqual(t, report.EFA, got.Verdict)
	quoted := 0
	for _, found := range got.Findings {
		if found.Line > 0 {
			assert.NotEmpty(t, found.Text, found.Code)
		}
		if strings.HasSuffix(found.Text, "via NET/Libfabric/0[0m") {
			quoted++
		}
	}
	assert.Positive(t, quoted, "%+v", got.Findings)
}
