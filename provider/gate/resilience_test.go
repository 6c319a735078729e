package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// devices changes how many EFA devices node n2 has.
func (w *world) devices(count int64) {
	w.t.Helper()
	object, err := w.kube.CoreV1().Nodes().Get(w.t.Context(), "n2", metav1.GetOptions{})
	require.NoError(w.t, err)
	object.Status.Allocatable["vpc.amazonaws.com/efa"] = *quantity.NewQuantity(count, quantity.DecimalSI)
	_, err = w.kube.CoreV1().Nodes().Update(w.t.Context(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// crash makes the head's Ray crash again and again: the pod stays "Running".
func (w *world) crash() {
	w.t.Helper()
	head, err := w.kube.CoreV1().Pods("ray").Get(w.t.Context(), "head", metav1.GetOptions{})
	require.NoError(w.t, err)
	head.Status.Conditions[0].Status = corev1.ConditionFalse
	head.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	_, err = w.kube.CoreV1().Pods("ray").UpdateStatus(w.t.Context(), head, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	w.blocked = func() bool { return true }
}

// An id without an instance would be accepted by the engine and by nothing after.
func TestCreateInterruptedBeforeItHasANameLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.kube.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, context.Canceled
	})
	created, err := w.server.Create(ctx, p.CreateRequest{Urn: w.urn, Properties: property.NewMap(w.inputs)})
	require.Error(t, err)
	assert.Nil(t, created.PartialState)
	assert.Empty(t, created.ID)
}

func TestHeadThatDoesNotAnswerIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		head    func(*world)
		abandon string
		want    error
	}{
		{"running", func(w *world) { w.blocked = func() bool { return true } }, "", gate.ErrUnreachable},
		{"running, and given up", func(w *world) { w.blocked = func() bool { return true } }, "c", nil},
		{"crashing", (*world).crash, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.up())
			w.end(rayapi.Running)
			w.env.AbandonCluster = test.abandon
			w.start()
			test.head(w)
			require.ErrorIs(t, w.destroy(), test.want)
		})
	}
}

// The shell's credentials may be another account's, where EKS knows no such cluster.
func TestClusterThatAnswersIsNotGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.presence = kube.Gone
	w.kube.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewUnauthorized("Unauthorized")
	})
	require.ErrorIs(t, w.destroy(), gate.ErrUnreachable)
}

// The update waits for a restarting head and finds its job.
func TestHeadThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed(w)
	w.end(rayapi.Succeeded)
	w.inputs["startupSeconds"] = property.New(600.0)
	begun := w.time()
	w.blocked = func() bool { return w.time().Sub(begun) < 2*time.Minute }
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
	assert.Equal(t, "efa", w.text("verdict"))
}

func TestCrashingHeadIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.inputs["amiRelease"] = property.New("other")
	w.crash()
	require.ErrorContains(t, w.up(), "refused by the preflight")
	assert.Contains(t, codes(w), "ray-pod-not-ready")
}

func TestJobThatDoesNotStopIsNotCalledStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = func(job *rayapi.Job) { job.Status, job.Message = rayapi.Pending, "waiting for GPUs" }
	err := w.up()
	require.ErrorContains(t, err, "did not stop at its deadline")
	require.ErrorContains(t, err, "waiting for GPUs")
	require.ErrorContains(t, err, "kubectl -n ray delete pod")
	assert.NotContains(t, err.Error(), " stopped at its deadline")
	assert.Contains(t, codes(w), "job-still-active")
}

// Counters that were read before the job are needed after it, by whichever update.
func TestAdoptedJobKeepsItsCounters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reads := 0
	w.exec = func(string) string {
		if reads++; reads > 4 { // each pod's probe and counters before the job
			return "efa0/ports/1 tx_bytes 1000000\nefa0/ports/1 rx_bytes 2000000\n"
		}
		return "efa0/ports/1 tx_bytes 0\nefa0/ports/1 rx_bytes 0\n"
	}
	expectations := w.inputs["expectations"].AsMap()
	w.inputs["expectations"] = property.New(expectations.Set("requireEfaCounters", property.New(true)))
	killed(w)
	w.end(rayapi.Succeeded)
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
	assert.False(t, w.state.Get("efaCounters").IsNull())
}

// If the preflight refuses the next attempt, the stopped one must not become proof.
func TestAttemptThatIsPassedOverIsNeverAdopted(t *testing.T) {
	t.Parallel()
	for _, status := range []rayapi.JobStatus{rayapi.Running, rayapi.Succeeded} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			killed(w)
			w.end(status)
			wanted := w.inputs["amiRelease"]
			w.inputs["amiRelease"] = property.New("other")
			w.devices(0)
			require.ErrorContains(t, w.up(), "refused by the preflight")

			w.devices(1)
			w.inputs["amiRelease"] = wanted
			w.script = func(job *rayapi.Job) { job.Status = rayapi.Succeeded }
			require.NoError(t, w.up())
			assert.Equal(t, 2, w.submitted(), "an attempt of its own")
		})
	}
}

// TestStateOfAnotherVersion takes fields away and adds one, as in a state of another release.
func TestStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.state = w.state.Delete("nodes").Delete("pods").Set("later", property.New("x"))
	require.NoError(t, w.refresh())
	assert.Equal(t, "efa", w.text("verdict"))
	w.state = w.state.Delete("nodes").Set("later", property.New("x"))
	require.NoError(t, w.up(), "nothing changed")
	w.inputs["hourlyUsd"] = property.New(1.0)
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
	assert.True(t, w.state.Get("kubeconfig").Secret())
	w.state = w.state.Delete("nodes").Set("later", property.New("x"))
	require.NoError(t, w.destroy())

	require.NoError(t, w.up())
	w.state = w.state.Set("attempt", property.New("many"))
	require.ErrorContains(t, w.destroy(), "pulumi state delete")
}

// An error that waiting does not fix ends the update at once; one that may pass is shown.
func TestPreflightErrors(t *testing.T) {
	t.Parallel()
	resource := corev1.Resource("nodes")
	tests := []struct {
		name  string
		err   error
		times int
		want  string
	}{
		{"forbidden", apierrors.NewForbidden(resource, "", errors.New("no access entry")), 1 << 20, "no access entry"},
		{"unauthorized", apierrors.NewUnauthorized("expired"), 1 << 20, "expired"},
		{"for a moment", apierrors.NewServiceUnavailable("starting"), 2, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var lines []string
			w.env.Log = func(_ context.Context, line string) { lines = append(lines, line) }
			w.start()
			failures := 0
			w.kube.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
				failures++
				return failures <= test.times, nil, test.err
			})
			began := w.time()
			err := w.up()
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				assert.Less(t, w.time().Sub(began), 10*time.Second)
				return
			}
			require.NoError(t, err)
			assert.Contains(t, lines[0], "starting")
		})
	}
}

func TestMissingNamespaceIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.inputs["namespace"] = property.New("nowhere")
	began := w.time()
	require.ErrorContains(t, w.up(), "nowhere")
	assert.Less(t, w.time().Sub(began), 10*time.Second)
	assert.Empty(t, w.id)
}

// What died explains missing ranks, so it comes first.
func TestWhatDiedComesFirst(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		dies func(*world)
		code string
		says string
	}{
		{"a container, out of memory", func(w *world) {
			pod, err := w.kube.CoreV1().Pods("ray").Get(w.t.Context(), "w2", metav1.GetOptions{})
			require.NoError(w.t, err)
			pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(w.time()),
			}
			_, err = w.kube.CoreV1().Pods("ray").UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(w.t, err)
		}, "ray-container-died", "OOMKilled, exit status 137"},
		{"a pod, evicted", func(w *world) {
			pod, err := w.kube.CoreV1().Pods("ray").Get(w.t.Context(), "w2", metav1.GetOptions{})
			require.NoError(w.t, err)
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
			pod.Status.Message = "The node was low on resource: ephemeral-storage."
			_, err = w.kube.CoreV1().Pods("ray").UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(w.t, err)
		}, "ray-pod-failed", "ephemeral-storage"},
		{"a pod, gone", func(w *world) {
			require.NoError(w.t, w.kube.CoreV1().Pods("ray").Delete(w.t.Context(), "w2", metav1.DeleteOptions{}))
		}, "ray-pod-lost", "pod w2"},
		{"a Ray node", func(w *world) {
			w.ray.Lock()
			defer w.ray.Unlock()
			w.ray.Nodes[2].State, w.ray.Nodes[2].StateMessage = "DEAD", "raylet: received SIGKILL"
			w.ray.Nodes[2].EndTime = w.time().UnixMilli()
		}, "ray-node-died", "received SIGKILL"},
		{"a node's disk, full", func(w *world) {
			node, err := w.kube.CoreV1().Nodes().Get(w.t.Context(), "n2", metav1.GetOptions{})
			require.NoError(w.t, err)
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Message: "kubelet has disk pressure",
			})
			_, err = w.kube.CoreV1().Nodes().UpdateStatus(w.t.Context(), node, metav1.UpdateOptions{})
			require.NoError(w.t, err)
		}, "node-disk-full", "node n2: DiskPressure"},
		{"actors", func(w *world) {
			died := func(reason rayapi.DeathReason) *rayapi.DeathCause {
				return &rayapi.DeathCause{Died: &rayapi.ActorDied{
					ActorFailure: rayapi.ActorFailure{Message: "Worker exits unexpectedly.\nexit code -9"}, Reason: reason,
				}}
			}
			left := died(rayapi.WorkerDied)
			left.Died.Message = "The actor is dead because its worker process has died. " +
				"Worker exit type: INTENDED_USER_EXIT Worker exit detail: exit_actor() is called."
			w.actors(
				rayapi.Actor{ClassName: "Controller", State: rayapi.Dead, DeathCause: died("OWNER_DIED")},
				rayapi.Actor{ClassName: "Cleaner", NodeID: "worker1", PID: 6, State: rayapi.Dead, DeathCause: left},
				rayapi.Actor{ClassName: "Worker", NodeID: "worker1", PID: 7, State: rayapi.Dead, DeathCause: died(rayapi.WorkerDied)},
				rayapi.Actor{ClassName: "Worker", NodeID: "worker1", PID: 8, State: rayapi.Dead, DeathCause: died(rayapi.WorkerDied)})
		}, "ray-actor-died", "2 actors on Ray node worker1, such as Worker (process 7): Worker exits unexpectedly. exit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.spoil = func(node, _ string, text []byte) (string, []byte) {
				if node == "worker1" {
					text = nil
				}
				return node, text
			}
			w.script = func(*rayapi.Job) {}
			sleeps := 0
			w.onSleep = func() {
				if w.submitted() == 0 {
					return
				}
				if sleeps++; sleeps == 3 {
					test.dies(w)
					w.end(rayapi.Failed)
				}
			}
			require.ErrorContains(t, w.up(), test.says)
			assert.Equal(t, test.code, codes(w)[0])
			assert.Contains(t, codes(w), "rank-missing")
		})
	}
}

func TestDeathsBeforeTheJobAreNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ray.Nodes = append(w.ray.Nodes, rayapi.Node{ID: "old", State: "DEAD", EndTime: w.time().Add(-time.Hour).UnixMilli()})
	w.fabric = synth.PluginMissing
	require.Error(t, w.up())
	assert.NotContains(t, codes(w), "ray-node-died")
}

// The dashboard of a head that is ready ended, and comes back by no waiting.
func TestDeadDashboardIsReported(t *testing.T) {
	t.Parallel()
	t.Run("before the job", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.inputs["startupSeconds"] = property.New(3600.0)
		w.blocked = func() bool { return true }
		began := w.time()
		err := w.up()
		require.ErrorContains(t, err, "Ray's dashboard cannot be reached")
		require.ErrorContains(t, err, "kubectl -n ray delete pod head")
		assert.Less(t, w.time().Sub(began), 10*time.Minute)
	})
	t.Run("while the job runs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.inputs["deadlineSeconds"] = property.New(36000.0)
		w.script = func(*rayapi.Job) {}
		w.blocked = func() bool { return w.submitted() > 0 && w.ray.Seen("GET /api/v0/logs") > 0 }
		began := w.time()
		require.ErrorContains(t, w.up(), "the head's pod is running, but its dashboard has been unreachable for 3m0s")
		assert.Less(t, w.time().Sub(began), 15*time.Minute)
	})
}
