package preflight_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
)

func counting(values map[string]string) preflight.Exec {
	return func(_ context.Context, pod string, _ []string) (string, error) {
		text, ok := values[pod]
		if !ok {
			return "", errors.New("no such pod")
		}
		return text, nil
	}
}

func TestReadAndMoved(t *testing.T) {
	t.Parallel()
	before := preflight.ReadCounters(t.Context(), counting(map[string]string{
		"a": "efa0/ports/1 tx_bytes 10\nefa0/ports/1 rx_bytes 20\n",
		"b": "efa0/ports/1 tx_bytes 0\nefa0/ports/1 rx_bytes 0\nefa0/ports/1 rdma_write_bytes 5\nefa0/ports/1 rdma_read_bytes 0\n",
	}), []string{"a", "b"})
	after := preflight.ReadCounters(t.Context(), counting(map[string]string{
		"a": "efa0/ports/1 tx_bytes 110\nefa0/ports/1 rx_bytes 220\n",
		"b": "efa0/ports/1 tx_bytes 1\nefa0/ports/1 rx_bytes 2\nefa0/ports/1 rdma_write_bytes 8\nefa0/ports/1 rdma_read_bytes 7\n",
	}), []string{"a", "b"})
	assert.Equal(t, &evidence.Counters{TxBytes: 103, RxBytes: 207, Devices: 2}, preflight.Increase(before, after),
		"the larger of send and RDMA, not their sum")
	assert.Nil(t, preflight.Increase(nil, after))
	assert.Nil(t, preflight.Increase(before, nil))
	assert.Nil(t, preflight.Increase(after, before), "a counter that went back")
}

func TestUnreadableIsNotZero(t *testing.T) {
	t.Parallel()
	good := "efa0/ports/1 tx_bytes 10\n"
	assert.Nil(t, preflight.ReadCounters(t.Context(), counting(map[string]string{"a": good, "b": ""}), []string{"a", "b"}), "one pod shows none")
	assert.Nil(t, preflight.ReadCounters(t.Context(), counting(map[string]string{"a": good}), []string{"a", "b"}), "one pod fails")
	assert.Nil(t, preflight.ReadCounters(t.Context(), counting(nil), nil))
	_, err := preflight.ParseCounters("efa0/ports/1 tx_bytes many\n")
	require.Error(t, err)
}

func TestMinBytes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		parameters   int64
		steps, nodes int
		want         float64
	}{
		{"the default job", 1_543_714_304, 50, 2, 308_742_860_800},
		{"twice the steps", 1_543_714_304, 100, 2, 617_485_721_600},
		{"four nodes", 1_000, 1, 4, 12_000},
		{"one node sends nothing", 1_000, 1, 1, 0},
		{"unknown model", 0, 50, 2, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, test.want, preflight.MinBytes(test.parameters, test.steps, test.nodes), 0)
		})
	}
}

// The record of a large cluster must fit in a ConfigMap.
func TestReadingsOfALargeClusterAreSmall(t *testing.T) {
	t.Parallel()
	readings := preflight.Readings{}
	for pod := range 512 {
		reading := preflight.Reading{}
		for device := range 32 {
			for _, name := range []string{"tx_bytes", "rx_bytes", "rdma_read_bytes", "rdma_write_bytes"} {
				reading[fmt.Sprintf("rdmap%ds0/ports/1 %s", device, name)] = float64(pod*1e12 + device*1e9 + len(name))
			}
		}
		readings[fmt.Sprintf("train-gpu-workers-%05d", pod)] = reading
	}
	text, err := json.Marshal(readings)
	require.NoError(t, err)
	assert.Less(t, len(text), 1<<20*3/4)
	var read preflight.Readings
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, readings, read)

	small := preflight.Readings{"w1": {"efa0/ports/1 tx_bytes": 7}}
	text, err = json.Marshal(small)
	require.NoError(t, err)
	assert.JSONEq(t, `{"w1":{"efa0/ports/1 tx_bytes":7}}`, string(text), "as earlier releases wrote it")
	require.NoError(t, json.Unmarshal(text, &read))
}
