package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// killed plays an up that dies while its job runs: nothing reaches the engine.
func killed(w *world) {
	w.t.Helper()
	w.script = func(*rayapi.Job) {}
	ctx, cancel := context.WithCancel(w.t.Context())
	w.onSleep = func() {
		if w.submitted() > 0 {
			cancel()
		}
	}
	_, err := w.server.Create(ctx, p.CreateRequest{Urn: w.urn, Properties: property.NewMap(w.inputs)})
	require.Error(w.t, err)
	w.onSleep = nil
}

func (w *world) end(status rayapi.JobStatus) {
	w.ray.Lock()
	defer w.ray.Unlock()
	for _, job := range w.ray.Jobs {
		job.Status = status
	}
}

func TestKilledUpAdoptsItsJob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		after func(*world)
	}{
		{"which still runs", func(w *world) {
			looks := 0
			w.onSleep = func() {
				if looks++; looks == 5 {
					w.end(rayapi.Succeeded)
				}
			}
		}},
		{"which ended since", func(w *world) { w.end(rayapi.Succeeded) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			killed(w)
			test.after(w)
			require.NoError(t, w.up())
			assert.Equal(t, 1, w.submitted(), "exactly one run for an attempt")
			assert.Equal(t, "efa", w.text("verdict"))
			instance, _ := w.record()["instance"].(string)
			assert.True(t, strings.HasSuffix(w.id, "-"+instance), "the killed create's instance is taken over")
		})
	}
}

func TestKilledUpWithOtherSettingsStopsItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed(w)
	w.inputs["amiRelease"] = property.New("other")
	w.script = func(job *rayapi.Job) { job.Status = rayapi.Succeeded }
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted())
	assert.Equal(t, rayapi.Stopped, w.ray.Jobs[w.ray.Submissions[0].ID].Status, "it held the GPUs")
}

func TestCancelKeepsTheAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = func(*rayapi.Job) {}
	w.onSleep = func() {
		if w.submitted() > 0 {
			require.NoError(t, w.server.Cancel(t.Context()))
		}
	}
	start := time.Now()
	err := w.up()
	assert.Less(t, time.Since(start), 5*time.Second)
	require.ErrorContains(t, err, "interrupted")
	require.ErrorContains(t, err, "-a1")
	require.NotEmpty(t, w.id)
	assert.Equal(t, "none", w.text("verdict"))
	assert.InDelta(t, 1, w.state.Get("attempt").AsNumber(), 0)
	assert.Equal(t, false, w.record()["settled"])

	w.start() // the next up has a provider process of its own
	w.onSleep = nil
	w.end(rayapi.Succeeded)
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
}

func TestOldSuccessIsNoProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	first := w.id
	require.NoError(t, w.destroy())
	require.NoError(t, w.up())
	assert.NotEqual(t, first, w.id)
	assert.Equal(t, 2, w.submitted())
	assert.True(t, strings.HasSuffix(w.text("submissionId"), "-a2"), "no id is used twice")
}

func TestRemovalStopsAndSettles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = func(*rayapi.Job) {}
	w.onSleep = func() {
		if w.submitted() > 0 {
			require.NoError(t, w.server.Cancel(t.Context()))
		}
	}
	require.Error(t, w.up())
	w.start()
	w.onSleep = nil
	require.NoError(t, w.destroy())
	assert.Equal(t, rayapi.Stopped, w.ray.Jobs[w.ray.Submissions[0].ID].Status)
	assert.Equal(t, true, w.record()["settled"])
}

func TestDestroyDoesNotWaitForAPendingJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.end(rayapi.Pending)
	require.NoError(t, w.destroy())
	assert.Equal(t, true, w.record()["settled"])
}

func TestDestroyWithoutAHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	require.NoError(t, w.kube.CoreV1().Pods("ray").Delete(t.Context(), "head", metav1.DeleteOptions{}))
	w.ray.Close()
	require.NoError(t, w.destroy())
}

func TestDestroyLeavesAnothersRecordAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.id = "train-00000000"
	w.end(rayapi.Running)
	require.NoError(t, w.destroy())
	assert.Equal(t, rayapi.Running, w.ray.Jobs[w.ray.Submissions[0].ID].Status)
}

func TestDestroyWhenTheClusterDoesNotAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		presence kube.Presence
		err      error
		abandon  string
		want     error
	}{
		{"gone", kube.Gone, nil, "", nil},
		{"there, but unreachable", kube.Present, nil, "", gate.ErrUnreachable},
		{"nobody knows", kube.Unknown, errors.New("no credentials"), "", gate.ErrUnreachable},
		{"unreachable, and given up", kube.Unknown, errors.New("no credentials"), "c", nil},
		{"unreachable, and another given up", kube.Present, nil, "other", gate.ErrUnreachable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.up())
			w.presence, w.presentErr, w.env.AbandonCluster = test.presence, test.err, test.abandon
			w.start()
			w.kube.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("connection refused")
			})
			err := w.destroy()
			require.ErrorIs(t, err, test.want)
			if test.want != nil {
				assert.ErrorContains(t, err, "connection refused")
				assert.ErrorContains(t, err, gate.AbandonVariable+"=c PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy")
			}
		})
	}
}

func TestHeadThatRestartsProvesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		lose func(*world)
	}{
		{"forgot the job", func(w *world) { clear(w.ray.Jobs) }},
		{"lives another life", func(w *world) { w.ray.Session = "other" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script = func(*rayapi.Job) {}
			w.onSleep = func() {
				if w.submitted() > 0 {
					w.ray.Lock()
					test.lose(w)
					w.ray.Unlock()
				}
			}
			require.Error(t, w.up())
			assert.Equal(t, "inconclusive", w.text("verdict"))
			assert.Contains(t, codes(w), "ray-head-restarted")
		})
	}
}

func TestRefusedBeforeTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	object, err := w.kube.CoreV1().Nodes().Get(t.Context(), "n2", metav1.GetOptions{})
	require.NoError(t, err)
	object.Status.Allocatable["vpc.amazonaws.com/efa"] = *quantity.NewQuantity(0, quantity.DecimalSI)
	_, err = w.kube.CoreV1().Nodes().Update(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.inputs["startupSeconds"] = property.New(1800.0)
	began := w.time()

	err = w.up()
	assert.Less(t, w.time().Sub(began), 2*time.Minute, "waiting brings no device to a node without its plugin, and costs money")
	require.ErrorContains(t, err, "refused by the preflight; no job was run")
	require.ErrorContains(t, err, "n2")
	assert.Equal(t, "none", w.text("verdict"))
	assert.Equal(t, []string{"efa-device-missing"}, codes(w))
	assert.Zero(t, w.submitted())
	require.Error(t, w.refresh())
	assert.True(t, w.hasChanges())
	require.NoError(t, w.destroy())
}

func TestPreflightWaitsForTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.kube.CoreV1().Pods("ray").Delete(t.Context(), "w2", metav1.DeleteOptions{}))
	sleeps := 0
	w.onSleep = func() {
		if sleeps++; sleeps == 3 {
			_, err := w.kube.CoreV1().Pods("ray").Create(t.Context(), pod("w2", "worker"), metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.up())
}

// TestAnotherClusterProvedNothing simulates a re-created cluster: the same
// name and settings, another kubeconfig, no record.
func TestAnotherClusterProvedNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	require.NoError(t, w.kube.CoreV1().ConfigMaps("ray").Delete(t.Context(), "raytrain-train", metav1.DeleteOptions{}))
	w.inputs["kubeconfig"] = property.New(kubeconfig + "\n").WithSecret(true)
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted())
	assert.True(t, strings.HasSuffix(w.text("submissionId"), "-a2"), "the state knows the newest number")
}

func TestDeadlineOfAnAdoptedJobCountsFromItsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed(w)
	w.ray.Lock()
	for _, job := range w.ray.Jobs {
		job.StartTime = w.time().Add(-299 * time.Second).UnixMilli()
	}
	w.ray.Unlock()
	before := w.time()
	require.ErrorContains(t, w.up(), "deadline")
	assert.Less(t, w.time().Sub(before), 20*time.Second)
}

func TestCounters(t *testing.T) {
	t.Parallel()
	moving := func() func(string) string {
		reads := 0
		return func(string) string {
			if reads++; reads > 4 { // each pod's probe and counters before the job
				return "efa0/ports/1 tx_bytes 1000000\nefa0/ports/1 rx_bytes 2000000\n"
			}
			return "efa0/ports/1 tx_bytes 0\nefa0/ports/1 rx_bytes 0\n"
		}
	}
	still := func(string) string { return "efa0/ports/1 tx_bytes 7\nefa0/ports/1 rx_bytes 7\n" }
	tests := []struct {
		name   string
		exec   func(string) string
		wanted bool
		code   string
	}{
		{"unreadable, not asked for", nil, false, ""},
		{"unreadable, asked for", nil, true, "efa-counters-unreadable"},
		{"unmoved, asked for", still, true, "efa-counters-low"},
		{"unmoved, readable all the same", still, false, "efa-counters-low"},
		{"moved, asked for", moving(), true, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec = test.exec
			expectations := w.inputs["expectations"].AsMap()
			w.inputs["expectations"] = property.New(expectations.Set("requireEfaCounters", property.New(test.wanted)))
			err := w.up()
			if test.code == "" {
				require.NoError(t, err)
				assert.Equal(t, test.exec == nil, w.state.Get("efaCounters").IsNull(), "unreadable is null, not 0")
				return
			}
			require.Error(t, err)
			assert.Equal(t, "inconclusive", w.text("verdict"))
			assert.Contains(t, codes(w), test.code)
		})
	}
}

func TestEvidenceOfANodeThatDiesIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	w.script = func(*rayapi.Job) {}
	sleeps := 0
	w.onSleep = func() {
		if sleeps++; sleeps == 20 { // after the first copy
			w.waitForCopies()
			w.ray.Lock()
			w.ray.Nodes[2].State = "DEAD"
			for _, job := range w.ray.Jobs {
				job.Status = rayapi.Failed
			}
			w.ray.Unlock()
		}
	}
	require.Error(t, w.up())
	assert.Equal(t, 8, w.state.Get("ranks").AsArray().Len())
	assert.Equal(t, "not-efa", w.text("verdict"))
}
