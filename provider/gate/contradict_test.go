package gate_test

import (
	"context"
	"errors"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// edit changes one output of the state, as `pulumi stack export` and `import` can.
func (w *world) edit(name string, value property.Value) { w.state = w.state.Set(name, value) }

// forgeRanks makes the traffic of every rank in the state EFA.
func (w *world) forgeRanks() {
	var ranks []property.Value
	for _, rank := range w.state.Get("ranks").AsArray().All {
		ranks = append(ranks, property.New(rank.AsMap().Set("traffic", property.New("efa"))))
	}
	w.edit("ranks", property.New(ranks))
}

// TestEditedStateIsNoProof edits the state of a refused run into one that passed, more thoroughly in
// each row.
func TestEditedStateIsNoProof(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*world)
		says string
	}{
		{"the verdict", func(*world) {}, ""},
		{"and the refusal", func(w *world) { w.state = w.state.Delete("refusal") },
			`the traffic of rank 0 is "other"`},
		{"and the ranks", func(w *world) {
			w.state = w.state.Delete("refusal")
			w.forgeRanks()
		}, "findings has the error"},
		{"and the findings", func(w *world) {
			w.state = w.state.Delete("refusal")
			w.forgeRanks()
			w.edit("findings", property.New([]property.Value{}))
		}, `the record in the cluster says "not-efa"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fabric = synth.PluginMissing
			require.Error(t, w.up())
			w.edit("verdict", property.New("efa"))
			test.edit(w)
			forged := w.state

			assert.True(t, w.hasChanges())
			require.ErrorContains(t, w.refresh(), test.says)
			if test.says != "" {
				assert.Equal(t, "inconclusive", w.text("verdict"))
				assert.Equal(t, "state-contradicted", codes(w)[0])
			}
			w.state = forged
			require.ErrorContains(t, w.up(), "not-efa")
			assert.Equal(t, 2, w.submitted())
		})
	}
}

// A proof that cannot be compared, because the cluster does not answer, is kept; one whose record is
// gone is not.
func TestProofNeedsItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.connectErr = errors.New("no route to host")
	assert.False(t, w.hasChanges())
	require.NoError(t, w.refresh())
	require.Len(t, w.warnings, 1)
	assert.Contains(t, w.warnings[0], "no route to host")

	w.connectErr = nil
	w.loseRecord()
	assert.True(t, w.hasChanges())
	require.ErrorContains(t, w.refresh(), "the cluster has no record of attempt 1")
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted())
}

// `pulumi refresh` prints warnings, but not the error that keeps a resource failed.
func TestRefreshPrintsTheRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	require.Error(t, w.up())
	assert.Empty(t, w.warnings)
	require.Error(t, w.refresh())
	require.Len(t, w.warnings, 1)
	assert.Contains(t, w.warnings[0], "refused: the verdict is not-efa")
	assert.Contains(t, w.warnings[0], "next:")

	green := newWorld(t)
	require.NoError(t, green.up())
	require.NoError(t, green.refresh())
	assert.Empty(t, green.warnings)
}

// TestRefreshTellsWhatBecameOfTheJob refreshes after an interrupted update.
func TestRefreshTellsWhatBecameOfTheJob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		then func(*world)
		says string
	}{
		{"it runs", func(*world) {}, "it still runs"},
		{"it ended", func(w *world) { w.end(rayapi.Succeeded) }, "it ended since"},
		{"the head restarted", func(w *world) {
			w.ray.Session = "another"
			clear(w.ray.Jobs)
		}, "the Ray head restarted"},
		{"it is unknown", func(w *world) { clear(w.ray.Jobs) }, "Ray does not know it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script = func(*rayapi.Job) {}
			w.onSleep = func() {
				if w.submitted() > 0 {
					require.NoError(t, w.server.Cancel(t.Context()))
				}
			}
			require.ErrorContains(t, w.up(), "interrupted")
			w.start()
			w.onSleep = nil
			test.then(w)
			require.Error(t, w.refresh())
			require.Len(t, w.warnings, 2)
			assert.Contains(t, w.warnings[0], test.says)
			assert.Contains(t, w.warnings[0], "next: pulumi up")
		})
	}
}

// TestPreviewSaysWhyTheJobRunsAgain names the inputs of the proof that changed, from what to what.
func TestPreviewSaysWhyTheJobRunsAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*world)
		says   []string
	}{
		{"nothing that matters", func(w *world) { w.inputs["deadlineSeconds"] = property.New(500.0) }, nil},
		{"inputs", func(w *world) {
			w.inputs["amiRelease"] = property.New("1.36-2")
			w.inputs["environment"] = property.New(map[string]property.Value{"FI_LOG_LEVEL": property.New("info")})
		}, []string{
			`amiRelease changes from "1.36-1" to "1.36-2"`, `environment.FI_LOG_LEVEL changes from unset to "info"`,
			`environment.NCCL_NET changes from "Libfabric" to unset`,
		}},
		{"the RayCluster", func(w *world) {
			w.inputs["rayClusterSpec"] = property.New(`{"headGroupSpec":{"ports":[1,2]}}`)
		}, []string{"rayClusterSpec.headGroupSpec.ports[1] changes from unset to 2"}},
		{"what the update decides", func(w *world) {
			w.inputs["launchTemplateVersion"] = property.New(property.Computed)
		}, []string{`launchTemplateVersion changes from "1" to a value that is known after the update`}},
		{"the code", func(w *world) {
			w.env.Code = []byte("other code")
			w.start()
		}, []string{"code changes from"}},
		{"a forged verdict", func(w *world) { w.edit("jobStatus", property.New("FAILED")) },
			[]string{"the state contradicts itself"}},
		{"a lost record", (*world).loseRecord, []string{"no record of attempt 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.up())
			test.change(w)
			check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
			require.NoError(t, err)
			_, err = w.server.Update(context.Background(), p.UpdateRequest{
				ID: w.id, Urn: w.urn, State: w.state, Inputs: check.Inputs, DryRun: true,
			})
			require.NoError(t, err)
			if test.says == nil {
				assert.Empty(t, w.infos)
				return
			}
			require.Len(t, w.infos, 1)
			for _, says := range test.says {
				assert.Contains(t, w.infos[0], says)
			}
			assert.Equal(t, 1, w.submitted())
		})
	}
}
