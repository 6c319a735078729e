package gate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	withEFA    = "== fi_info\nprovider: efa\n== exit 0\n== driver\n580.95.05\n== exit 0\n== cuda\nCUDA Version: 13.0\n== exit 0\n"
	withoutEFA = "== fi_info\nfi_getinfo: -61 (No data available)\n== exit 61\n"
	oldDriver  = "== fi_info\nprovider: efa\n== exit 0\n== driver\n550.1\n== exit 0\n== torch\n13.0\n== exit 0\n"
)

func TestWhatThePodsTell(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer, device string
		asked                bool
		// refused is the code of the refusal; empty for a green run, in which note is a finding.
		refused, note string
	}{
		{"EFA in every pod", withEFA, "cpu", true, "", ""},
		{"no EFA, not asked", withoutEFA, "cpu", false, "", "fi-info-no-efa"},
		{"no EFA, asked", withoutEFA, "cpu", true, "fi-info-no-efa", ""},
		{"no answer, not asked", "", "cpu", false, "", "fi-info-unknown"},
		{"no answer, asked", "", "cpu", true, "fi-info-unknown", ""},
		{"an old driver", oldDriver, "cuda", false, "driver-too-old", ""},
		{"an old driver that nothing uses", oldDriver, "cpu", false, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec = func(string) string { return test.answer }
			w.inputs["expectations"] = property.New(w.inputs["expectations"].AsMap().Set("requireFiInfo", property.New(test.asked)))
			w.inputs["training"] = property.New(w.inputs["training"].AsMap().Set("device", property.New(test.device)))
			err := w.up()
			if test.refused != "" {
				require.ErrorContains(t, err, "refused by the preflight")
				assert.Contains(t, codes(w), test.refused)
				assert.Zero(t, w.submitted(), "no job may run")
				return
			}
			require.NoError(t, err)
			if test.note != "" {
				assert.Contains(t, codes(w), test.note)
			}
		})
	}
}

func TestNodesAndPodsAreOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec = func(string) string { return withEFA }
	require.NoError(t, w.up())
	nodes := w.state.Get("nodes").AsArray()
	require.Equal(t, 2, nodes.Len())
	assert.InDelta(t, 4, nodes.Get(0).AsMap().Get("gpus").AsNumber(), 0)
	assert.InDelta(t, 1, nodes.Get(0).AsMap().Get("efa").AsNumber(), 0)
	pods := w.state.Get("pods").AsArray()
	require.Equal(t, 3, pods.Len())
	told := map[string]int{}
	for i := range pods.Len() {
		pod := pods.Get(i).AsMap()
		told[pod.Get("fiInfo").AsString()+" "+pod.Get("driverVersion").AsString()]++
		assert.Equal(t, digest, pod.Get("imageDigest").AsString())
	}
	assert.Equal(t, map[string]int{"efa 580.95.05": 2, "unknown ": 1}, told, "the head has neither GPU nor EFA")
}

// A command that fails for a moment must not refuse the job.
func TestProbeIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := map[string]int{}
	w.execErr = func(pod string) error {
		if calls[pod]++; calls[pod] == 1 {
			return errors.New("error dialing backend")
		}
		return nil
	}
	w.exec = func(string) string { return withEFA }
	w.inputs["expectations"] = property.New(w.inputs["expectations"].AsMap().Set("requireFiInfo", property.New(true)))
	require.NoError(t, w.up())
}

// A cancelled command is no answer of the pod.
func TestCancelDuringTheProbeIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.execErr = func(string) error {
		require.NoError(t, w.server.Cancel(t.Context()))
		return context.Canceled
	}
	w.inputs["expectations"] = property.New(w.inputs["expectations"].AsMap().Set("requireFiInfo", property.New(true)))
	require.ErrorContains(t, w.up(), "interrupted before the verdict")
	assert.Equal(t, []string{"interrupted"}, codes(w))
}
