package main

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // far below 2^63
}

// A small version of the benchmark: a collection holds no file in memory, and its verdict is right.
func TestCollectionHoldsNoFileInMemory(t *testing.T) {
	const nodes, size = 8, 1 << 20
	h, err := newHead(nodes, size)
	require.NoError(t, err)
	defer h.close()
	ray := rayapi.New(rayapi.Options{BaseURL: h.server.URL})
	before := heap()
	steps := map[string]int64{}
	judged, err := collect(t.Context(), ray, nodes, t.TempDir(), func(step, _ string, _ time.Duration) {
		steps[step] = heap() - before
	})
	require.NoError(t, err)
	assert.Equal(t, report.EFA, judged.Report.Verdict)
	assert.Len(t, judged.Report.Ranks, nodes*gpus)
	assert.Len(t, judged.Manifests, nodes*gpus)
	require.Len(t, steps, 4)
	for step, held := range steps {
		assert.Less(t, held, int64(nodes*gpus*size/8), step)
	}
}

// A node whose files cannot be read makes the run inconclusive, also among many.
func TestOneNodeOfManyIsMissing(t *testing.T) {
	t.Parallel()
	const nodes = 20
	h, err := newHead(nodes, 1<<10)
	require.NoError(t, err)
	defer h.close()
	for i := range h.listing.Nodes {
		if h.listing.Nodes[i].ID == nodeID(13) {
			h.listing.Nodes[i].State = "DEAD"
		}
	}
	ray := rayapi.New(rayapi.Options{BaseURL: h.server.URL})
	judged, err := collect(t.Context(), ray, nodes, t.TempDir(), func(string, string, time.Duration) {})
	require.NoError(t, err)
	assert.Equal(t, report.Inconclusive, judged.Report.Verdict)
	assert.True(t, slices.ContainsFunc(judged.Report.Findings, func(f report.Finding) bool {
		return f.Text == "152 of 160 ranks left a manifest; missing: 104, 105, 106, 107, 108, 109, 110, 111"
	}))
}
