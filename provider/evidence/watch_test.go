package evidence

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
)

// tried returns the files of one attempt of Ray Train, whose logs have share percent of their lines.
func tried(t *testing.T, try int, fabric synth.Fabric, share int) []File {
	t.Helper()
	logs, _ := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 2, Channels: 2, Fabric: fabric, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean, Pin: "Libfabric",
	}.Generate()
	var files []File
	for _, log := range logs {
		var rank int
		_, err := fmt.Sscanf(log.Name, "rank%d.", &rank)
		require.NoError(t, err)
		node := fmt.Sprintf("node%d", rank/2)
		name := fmt.Sprintf("rank%d.h.%d.log", rank, try)
		manifest, err := json.Marshal(Manifest{
			Rank: rank, WorldSize: 4, Node: node, Nonce: "n", SubmissionID: "s", TrainAttempt: try, NCCLFile: name,
		})
		require.NoError(t, err)
		files = append(files,
			onDisk(t, node, name, log.Data[:len(log.Data)*share/100]),
			onDisk(t, node, fmt.Sprintf("rank%d.json", rank), manifest))
	}
	return files
}

func watch() *Watch {
	return NewWatch(Run{
		Expected: Expected{SubmissionID: "s", Nonce: "n", WorldSize: 4, Nodes: 2}, Provider: "efa",
	})
}

func TestWatchOfARunThatGrows(t *testing.T) {
	t.Parallel()
	w := watch()
	assert.Equal(t, Glimpse{WorldSize: 4, Verdict: report.Inconclusive}, w.Look(nil))
	for share := range 100 {
		assert.False(t, w.Look(tried(t, 0, synth.OnEFA, share)).Lost, "%d %%", share)
	}
	assert.Equal(t, report.EFA, w.Look(tried(t, 0, synth.OnEFA, 100)).Verdict)

	w = watch()
	assert.False(t, w.Look(tried(t, 0, synth.ProviderTCP, 10)).Lost)
	seen := w.Look(tried(t, 0, synth.ProviderTCP, 100))
	require.True(t, seen.Lost)
	require.NotNil(t, seen.Telling)
	assert.NotZero(t, seen.Telling.Line)
}

// A restart of the ranks by Ray Train is judged without the logs of the try before, and a file that
// became shorter from its beginning.
func TestWatchOfARestart(t *testing.T) {
	t.Parallel()
	w := watch()
	first := tried(t, 0, synth.PluginMissing, 100)
	assert.True(t, w.Look(first).Lost)
	var old []File
	for _, f := range first {
		if f.Name[len(f.Name)-4:] == ".log" {
			old = append(old, f)
		}
	}
	seen := w.Look(append(old, tried(t, 1, synth.OnEFA, 100)...))
	assert.False(t, seen.Lost)
	assert.Equal(t, report.EFA, seen.Verdict)

	assert.False(t, w.Look(tried(t, 1, synth.OnEFA, 50)).Lost)
	assert.Equal(t, report.EFA, w.Look(tried(t, 1, synth.OnEFA, 100)).Verdict)
}
