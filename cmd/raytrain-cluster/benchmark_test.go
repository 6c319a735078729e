package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

func TestBenchmarkNamesEveryWrongFlag(t *testing.T) {
	t.Parallel()
	_, errOut, status := call(t, "benchmark", "speed", "--address", "ray://127.0.0.1:1", "--model", "gpt", "--steps", "1",
		"--largest-mib", "0", "--line-rate-gbps", "-1", "--env", "A")
	assert.Equal(t, 1, status)
	for _, want := range []string{
		`experiment "speed": must be one of efa-vs-tcp|scaling|allreduce|recovery`, "flag --address", "model gpt is not allowed",
		"steps 1 is not allowed", "flag --largest-mib 0", "flag --line-rate-gbps -1", "flag --env",
	} {
		assert.Contains(t, errOut, want)
	}
}

func TestBenchmarkNeedsNodesAndStorage(t *testing.T) {
	t.Parallel()
	server := raytest.New()
	t.Cleanup(server.Close)
	_, errOut, status := call(t, "benchmark", "efa-vs-tcp", "--address", server.URL())
	assert.Equal(t, 1, status)
	assert.Contains(t, errOut, "nodes with GPUs, required: 2 or more; next: ray status")
	_, errOut, status = call(t, "benchmark", "recovery", "--address", server.URL())
	assert.Equal(t, 1, status)
	assert.Contains(t, errOut, "flag --storage-path: recovery needs it")
	require.Empty(t, server.Submissions)
}
