package nccl_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestManyRunsTakeLinearTime judges as many runs as processes. With work that
// grows with their product this takes minutes, without it about a second. It does not run in parallel
// with other tests, because it measures time.
func TestManyRunsTakeLinearTime(t *testing.T) {
	// Every other process's communicator is not in evidence: its channels weigh on all runs.
	const runs = 50_000
	var log strings.Builder
	for i := range runs {
		prefix := fmt.Sprintf("host%d:%d:%d [0] NCCL INFO ", i, i, i)
		comm := fmt.Sprintf("ncclCommInitRank comm 0x%012x rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1000 commId 0x%016x - Init ", i+4096, i+1)
		log.WriteString(prefix + comm + "START\n" + prefix + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n" + prefix + comm + "COMPLETE\n")
		fmt.Fprintf(&log, "lone%d:%d:%d [0] NCCL INFO Channel 00/0 : 2[0] -> 3[0] [send] via NET/Socket/0\n", i, i, i)
	}
	started := time.Now()
	report, err := nccl.Judge(t.Context(), []nccl.Source{{Name: "log", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log.String())), nil
	}}}, nccl.Options{})
	require.NoError(t, err)
	assert.Len(t, report.Communicators, runs)
	assert.Less(t, time.Since(started), 30*time.Second)
}
