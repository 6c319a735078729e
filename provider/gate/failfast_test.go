package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// running lets jobs run until they are stopped, with failFast and a deadline of one hour.
func (w *world) running() {
	w.script = func(*rayapi.Job) {}
	w.inputs["failFast"] = property.New(true)
	w.inputs["deadlineSeconds"] = property.New(3600.0)
}

// awaitPasses makes each sleep during a job wait until the copies of its files had time for n more
// lists of a node's files, so that the fake clock does not run away from them.
func (w *world) awaitPasses(n int) {
	waited := false
	w.onSleep = func() {
		if w.submitted() == 0 || waited {
			return
		}
		waited = w.ray.Seen("GET /api/v0/logs?") >= n
		time.Sleep(5 * time.Millisecond)
	}
}

// A job whose channels are on sockets is stopped long before its deadline, and the refusal has the
// line that tells so.
func TestRunThatCannotBecomeEFAIsStopped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fabric  synth.Fabric
		verdict string
		line    string
	}{
		{synth.PluginMissing, "not-efa", "Could not find: ofi"},
		{synth.ProviderTCP, "not-efa", "provider"},
		{synth.SocketOneRank, "mixed", "NET/Socket"},
	}
	for _, test := range tests {
		t.Run(string(test.fabric), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fabric = test.fabric
			w.running()
			w.awaitPasses(1 << 20)
			began := w.time()
			err := w.up()
			require.ErrorContains(t, err, "because it can no longer become efa (job.failFast)")
			require.ErrorContains(t, err, test.line)
			assert.Regexp(t, `evidence: rank\d+\..*\.log:\d+: `, err.Error())
			assert.Equal(t, test.verdict, w.text("verdict"))
			assert.Equal(t, "STOPPED", w.text("jobStatus"))
			assert.Equal(t, true, w.record()["settled"])
			assert.Less(t, w.time().Sub(began), 50*time.Minute)
			assert.Equal(t, 8, w.state.Get("ranks").AsArray().Len(), "the evidence is collected after the stop")
		})
	}
}

// Without a channel on another network, nothing is known yet.
func TestRunThatMayBecomeEFAIsNotStopped(t *testing.T) {
	t.Parallel()
	cut := func(line string) func(string, string, []byte) (string, []byte) {
		return func(node, name string, text []byte) (string, []byte) {
			if before, _, found := strings.Cut(string(text), line); found && strings.HasSuffix(name, ".log") {
				text = []byte(before)
			}
			return node, text
		}
	}
	tests := []struct {
		name   string
		fabric synth.Fabric
		spoil  func(node, name string, text []byte) (string, []byte)
	}{
		{"on EFA", synth.OnEFA, nil},
		{"without evidence", synth.PluginMissing, func(node, _ string, _ []byte) (string, []byte) { return node, nil }},
		{"without manifests", synth.PluginMissing, func(node, name string, text []byte) (string, []byte) {
			if strings.HasSuffix(name, ".json") {
				text = nil
			}
			return node, text
		}},
		{"before the first channel", synth.PluginMissing, cut(" Channel 0")},
		{"of another run", synth.PluginMissing, func(node, _ string, text []byte) (string, []byte) {
			return node, []byte(strings.ReplaceAll(string(text), `"nonce":"`, `"nonce":"0`))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fabric, w.spoil = test.fabric, test.spoil
			w.running()
			w.inputs["deadlineSeconds"] = property.New(600.0)
			w.awaitPasses(9) // three nodes in three passes
			require.ErrorContains(t, w.up(), "stopped at its deadline of 600 s")
			assert.GreaterOrEqual(t, w.ray.Seen("GET /api/v0/logs?"), 9)
		})
	}
}

func TestFailFastIsASetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	w.running()
	w.inputs["failFast"] = property.New(false)
	w.inputs["deadlineSeconds"] = property.New(600.0)
	w.awaitPasses(9)
	require.ErrorContains(t, w.up(), "stopped at its deadline")
}

// TestSecondsFromTheTellingLineToTheStop measures with a real clock. Most of it is the pause between
// two copies of the evidence.
func TestSecondsFromTheTellingLineToTheStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	w.running()
	w.env.Now = time.Now
	w.env.Sleep = func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	w.start()
	type file struct {
		node, name string
		text       []byte
	}
	var later []file
	w.spoil = func(node, name string, text []byte) (string, []byte) {
		if strings.HasSuffix(name, ".log") {
			later = append(later, file{node, name, text})
			text = nil
		}
		return node, text
	}
	told, stopped := make(chan time.Time, 1), make(chan time.Time, 1)
	go func() {
		assert.Eventually(t, func() bool { return w.ray.Seen("GET /api/v0/logs/file") > 0 }, time.Minute, time.Millisecond)
		w.ray.Lock()
		for _, f := range later {
			w.ray.AddFile(f.node, "raytrain/"+w.ray.Submissions[0].ID+"/"+f.name, f.text)
		}
		w.ray.Unlock()
		told <- time.Now()
		id := w.ray.Submissions[0].ID
		assert.Eventually(t, func() bool { return w.ray.Seen("POST /api/jobs/"+id+"/stop") > 0 }, time.Minute, time.Millisecond)
		stopped <- time.Now()
	}()
	require.ErrorContains(t, w.up(), "can no longer become efa")
	seconds := (<-stopped).Sub(<-told).Seconds()
	t.Logf("from the telling line to the stop: %.1f s", seconds)
	assert.Less(t, seconds, 60.0)
}
