package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestJobThatWaitsForResourcesIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inputs["pendingSeconds"] = property.New(60.0)
	w.script = func(job *rayapi.Job) { job.Status, job.Message = rayapi.Pending, "waiting for GPUs" }
	began := w.time()
	err := w.up()
	require.ErrorContains(t, err, "did not stop after it waited for 60 s (job.pendingSeconds)")
	require.ErrorContains(t, err, "waiting for GPUs")
	assert.Less(t, w.time().Sub(began), 200*time.Second)
}

// A script that requests more GPUs than the node group has is refused in seconds.
func TestJobThatRequestsTooManyGPUsIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = func(job *rayapi.Job) {
		job.JobID = "01000000"
		w.ray.Groups = []rayapi.PlacementGroup{{JobID: job.JobID, State: rayapi.GroupPending, Bundles: []rayapi.Bundle{
			{Resources: map[string]float64{"GPU": 4}}, {Resources: map[string]float64{"GPU": 4}}, {Resources: map[string]float64{"GPU": 1}},
		}}}
	}
	w.inputs["deadlineSeconds"] = property.New(86400.0)
	w.awaitPasses(1 << 20)
	err := w.up()
	require.ErrorContains(t, err, "a placement group requests 9 GPUs, and the cluster has 8")
	require.ErrorContains(t, err, "pulumi config set --path gpu.nodes")
	assert.Equal(t, "job-impossible", w.state.Get("refusal").AsMap().Get("code").AsString())
}

func TestJobWithoutProgressIsStopped(t *testing.T) {
	t.Parallel()
	report := []byte(`{"step": 3, "steps": 5, "loss": null, "stepsPerSecond": null}`)
	tests := []struct {
		name string
		// leaves is what a file of the run becomes; nil removes it.
		leaves  func(text []byte) []byte
		reports bool
		want    string
	}{
		{"it never leaves evidence", func([]byte) []byte { return nil }, false, "without progress"},
		{"it hangs in a step", func(text []byte) []byte { return text }, true, "without progress"},
		{"it reports no steps", func(text []byte) []byte { return text }, false, "deadline"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.running()
			w.inputs["deadlineSeconds"], w.inputs["noProgressSeconds"] = property.New(1200.0), property.New(120.0)
			w.spoil = func(node, name string, text []byte) (string, []byte) {
				if name == "result.json" {
					return node, nil
				}
				return node, test.leaves(text)
			}
			w.script = func(job *rayapi.Job) {
				if test.reports {
					w.ray.AddFile("worker0", "raytrain/"+job.SubmissionID+"/progress.json", report)
				}
			}
			w.awaitPasses(9)
			require.ErrorContains(t, w.up(), test.want)
		})
	}
}

// TestProgressIsShown reads the line that Pulumi displays.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running()
	w.script = func(job *rayapi.Job) {
		w.ray.AddFile("worker0", "raytrain/"+job.SubmissionID+"/progress.json",
			[]byte(`{"step": 3, "steps": 5, "loss": 2.5, "stepsPerSecond": 0.5}`))
	}
	const want = "step 3 of 5, loss 2.5000, 0.50 steps/s, 8 of 8 ranks, verdict so far efa"
	shown := w.watchLog(func(line string) {
		if strings.Contains(line, want) {
			w.end(rayapi.Succeeded)
		}
	})
	w.awaitPasses(1 << 20)
	require.NoError(t, w.up())
	assert.Contains(t, strings.Join(shown(), "\n"), want)
}

func TestCancelStopsTheJobWhereAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		refuses bool
	}{{"and it stops", false}, {"but it does not stop", true}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script = func(*rayapi.Job) {}
			w.inputs["onCancel"] = property.New("stop")
			if test.refuses {
				w.ray.OnJobRead = func(job *rayapi.Job) { job.Status = rayapi.Running }
			}
			w.onSleep = func() {
				if w.submitted() > 0 {
					require.NoError(t, w.server.Cancel(t.Context()))
				}
			}
			err := w.up()
			assert.Equal(t, !test.refuses, w.record()["settled"])
			if test.refuses {
				require.ErrorContains(t, err, "if it runs, it continues")
				require.Len(t, w.warnings, 1)
				assert.Contains(t, w.warnings[0], "was not stopped after the cancel")
				return
			}
			require.ErrorContains(t, err, "the job was stopped (job.onCancel)")
			require.ErrorContains(t, err, "pulumi up (runs a new attempt)")
			assert.Equal(t, rayapi.Stopped, w.ray.Jobs[w.ray.Submissions[0].ID].Status)
			w.start()
			w.onSleep = nil
			w.script = func(job *rayapi.Job) { job.Status = rayapi.Succeeded }
			require.NoError(t, w.up())
			assert.Equal(t, 2, w.submitted())
		})
	}
}
