package gate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// TestDestroyWaitsForTheGPUs lets the actors of a stopped job live on.
func TestDestroyWaitsForTheGPUs(t *testing.T) {
	t.Parallel()
	for name, endsAfter := range map[string]int{"for a moment": 5, "for ever": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.up())
			w.end(rayapi.Running)
			// Ray Train's coordinator stays for ever, on every cluster, and holds no GPU.
			coordinator := rayapi.Actor{ClassName: "_AutoscalingCoordinatorActor", State: "ALIVE"}
			w.actors(coordinator, rayapi.Actor{
				ClassName: "RayTrainWorker", NodeID: "worker1", PID: 7, State: "ALIVE",
				Resources: map[string]float64{"CPU": 1, "GPU": 1},
			})
			sleeps := 0
			w.onSleep = func() {
				if sleeps++; sleeps == endsAfter {
					w.actors(coordinator, rayapi.Actor{ClassName: "RayTrainWorker", State: rayapi.Dead})
				}
			}
			err := w.destroy()
			if endsAfter < 60 {
				require.NoError(t, err)
				assert.GreaterOrEqual(t, sleeps, endsAfter)
				return
			}
			require.ErrorIs(t, err, rayapi.ErrStillActive)
			require.ErrorContains(t, err, "1 actors 1m0s after the end, such as RayTrainWorker, process 7")
			require.ErrorContains(t, err, "kubectl -n ray delete pod")
			assert.NotEmpty(t, w.id)
		})
	}
}

// Evidence that cannot be stored is said as such, and the next update judges the same job.
func TestEvidenceThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	good := w.inputs["evidenceDir"]
	w.inputs["evidenceDir"] = property.New(filepath.Join(file, "evidence"))
	err := w.up()
	require.ErrorContains(t, err, "refused: the evidence could not be written")
	require.ErrorContains(t, err, "then pulumi up (judges the same job)")
	assert.Equal(t, []string{"evidence-not-written"}, codes(w))
	assert.Equal(t, "none", w.text("verdict"))

	w.inputs["evidenceDir"] = good
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
}

// inMemory is a cluster whose Ray head is called without a network, as a test in a bubble needs.
type inMemory struct {
	cluster

	hangs func(*http.Request) bool
}

func (c inMemory) Ray(context.Context, string, string) (*rayapi.Client, string, error) {
	return rayapi.New(rayapi.Options{Transport: c, Token: token}), token, nil
}

func (c inMemory) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.hangs(request) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	recorder := httptest.NewRecorder()
	c.w.ray.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

func (c inMemory) Kubernetes() kubernetes.Interface { return c.w.kube }

// TestTimeLimitsAtTheEndOfARun runs on a fake clock: whatever hangs once the job has ended, the update
// ends, and a run whose logs could not be read again is no proof.
func TestTimeLimitsAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	all := func(*http.Request) bool { return true }
	tests := []struct {
		name    string
		hangs   func(*http.Request) bool
		within  time.Duration
		verdict string
	}{
		{"nothing hangs", nil, time.Minute, "efa"},
		{"the ranks' logs", func(r *http.Request) bool {
			return strings.Contains(r.URL.Query().Get("filename"), "raytrain/")
		}, 6 * time.Minute, "inconclusive"},
		{"the lists of logs", func(r *http.Request) bool { return r.URL.Path == "/api/v0/logs" }, 6 * time.Minute,
			"inconclusive"},
		{"the driver's log", func(r *http.Request) bool {
			return strings.HasPrefix(r.URL.Query().Get("filename"), "job-driver")
		}, 2 * time.Minute, "efa"},
		{"the whole head", all, 15 * time.Minute, "none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) {
				w.t = t
				var ended time.Time
				head := inMemory{cluster: cluster{w}, hangs: func(r *http.Request) bool {
					return test.hangs != nil && !ended.IsZero() && test.hangs(r)
				}}
				w.ray.OnJobRead = func(*rayapi.Job) {
					if ended.IsZero() { // the first look at the job is the last before it hangs
						ended = time.Now()
					}
				}
				w.env.Connect = func(string) (gate.Cluster, error) { return head, nil }
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
				_ = w.up() //nolint:errcheck // the verdict tells
				require.False(t, ended.IsZero())
				assert.Less(t, time.Since(ended), test.within)
				assert.Equal(t, test.verdict, w.text("verdict"))
			})
		})
	}
}

// TestHangingWriteOfTheRecord hangs the API server once the verdict is there.
func TestHangingWriteOfTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := w.time()
	w.onSettle(func(int, *corev1.ConfigMap) error { return context.DeadlineExceeded })
	require.NoError(t, w.up(), "the verdict counts")
	assert.Less(t, w.time().Sub(began), time.Minute)
	require.Len(t, w.warnings, 1)
}

// Ray Train ends its workers when the job is done, and Ray calls some of them unexpected.
func TestDeadActorsOfAJobThatSucceededAreNoFinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fabric = synth.PluginMissing
	w.script = func(*rayapi.Job) {} // it ends below
	w.onSleep = func() {
		if w.submitted() > 0 {
			w.actors(rayapi.Actor{ClassName: "Worker", State: rayapi.Dead, DeathCause: &rayapi.DeathCause{
				Died: &rayapi.ActorDied{Reason: rayapi.WorkerDied},
			}})
			w.end(rayapi.Succeeded)
		}
	}
	require.ErrorContains(t, w.up(), "refused: the verdict is not-efa")
	assert.Equal(t, "SUCCEEDED", w.text("jobStatus"))
	assert.NotContains(t, codes(w), "ray-actor-died")
}
