package gate_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// onSettle replaces the API server's answer to the writes that settle the record. The reply is
// handled as usual when fail returns nil.
func (w *world) onSettle(fail func(write int, object *corev1.ConfigMap) error) {
	writes := 0
	w.kube.PrependReactor("update", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(k8stesting.UpdateAction)
		require.True(w.t, ok)
		object, ok := update.GetObject().(*corev1.ConfigMap)
		require.True(w.t, ok)
		if !strings.Contains(object.Data["record.json"], `"settled":true`) {
			return false, nil, nil
		}
		writes++
		err := fail(writes, object)
		return err != nil, nil, err
	})
}

func TestVerdictSurvivesAFailedWriteOfTheRecord(t *testing.T) {
	t.Parallel()
	down := apierrors.NewInternalError(errors.New("etcd has no leader"))
	tests := []struct {
		name    string
		fail    func(w *world, write int, object *corev1.ConfigMap) error
		settled bool
	}{
		{"two failures", func(_ *world, write int, _ *corev1.ConfigMap) error {
			if write <= 2 {
				return down
			}
			return nil
		}, true},
		{"the reply was lost", func(w *world, write int, object *corev1.ConfigMap) error {
			if write > 1 {
				return nil
			}
			require.NoError(w.t, w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), object, "ray"))
			return errors.New("connection reset")
		}, true},
		{"the update is cancelled meanwhile", func(w *world, write int, _ *corev1.ConfigMap) error {
			if write > 1 {
				return nil
			}
			require.NoError(w.t, w.server.Cancel(w.t.Context()))
			return down
		}, true},
		{"every write fails", func(*world, int, *corev1.ConfigMap) error { return down }, false},
	}
	for _, fabric := range []synth.Fabric{synth.OnEFA, synth.PluginMissing} {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.fabric = fabric
				w.onSettle(func(write int, object *corev1.ConfigMap) error { return test.fail(w, write, object) })
				err := w.up()
				assert.Equal(t, fabric == synth.OnEFA, err == nil, "%v", err)
				assert.NotEqual(t, "none", w.text("verdict"), "the verdict is kept")
				assert.Equal(t, test.settled, w.record()["settled"])
				assert.Equal(t, test.settled, len(w.warnings) == 0, "%v", w.warnings)
				w.start()
				if fabric == synth.OnEFA {
					require.NoError(t, w.up())
					assert.Equal(t, 1, w.submitted(), "no second job")
				}
			})
		}
	}
}

// A log endpoint that hangs delays neither the deadline nor the status.
func TestHangingLogsDoNotDelayTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = func(*rayapi.Job) {}
	w.hangs = func(r *http.Request) bool {
		w.ray.Lock()
		defer w.ray.Unlock()
		stopped := slices.ContainsFunc(w.ray.Requests, func(s string) bool { return strings.HasSuffix(s, "/stop") })
		return strings.HasPrefix(r.URL.Path, "/api/v0/logs") && !stopped
	}
	began := time.Now()
	require.ErrorContains(t, w.up(), "stopped at its deadline of 300 s")
	assert.Less(t, time.Since(began), 20*time.Second)
	assert.Equal(t, 8, w.state.Get("ranks").AsArray().Len(), "the evidence is collected after the stop")
}

func TestHeadRestartBetweenUpdatesIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	killed(w)
	w.ray.Lock()
	w.ray.Session = "another"
	clear(w.ray.Jobs)
	w.ray.Unlock()
	w.script = func(job *rayapi.Job) { job.Status = rayapi.Succeeded }
	require.NoError(t, w.up())
	assert.Equal(t, 2, w.submitted())
	assert.Contains(t, codes(w), "earlier-attempt-lost")
	require.Len(t, w.warnings, 1)
	assert.Contains(t, w.warnings[0], "the Ray head restarted")
}

// loseRecord deletes the record, as a person may.
func (w *world) loseRecord() {
	w.t.Helper()
	require.NoError(w.t, w.kube.CoreV1().ConfigMaps("ray").Delete(w.t.Context(), "raytrain-train", metav1.DeleteOptions{}))
}

func TestJobWithoutARecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		ami   string
		jobs  int
		first rayapi.JobStatus
	}{
		{"of the required proof is adopted", "1.36-1", 1, rayapi.Succeeded},
		{"of another proof is stopped", "1.36-2", 2, rayapi.Stopped},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			killed(w)
			w.loseRecord()
			w.inputs["amiRelease"] = property.New(test.ami)
			w.script = func(job *rayapi.Job) { job.Status = rayapi.Succeeded }
			w.onSleep = func() {
				if w.ray.Seen("GET /api/v0/logs") > 0 { // adopted and waited for
					w.end(rayapi.Succeeded)
				}
			}
			first := w.ray.Submissions[0].ID
			if test.jobs > 1 {
				w.onSleep = nil
			}
			require.NoError(t, w.up())
			assert.Equal(t, test.jobs, w.submitted())
			assert.Equal(t, test.first, w.ray.Jobs[first].Status)
			assert.Equal(t, true, w.record()["settled"])
			assert.Len(t, w.warnings, 1, "%v", w.warnings)
		})
	}
}

func TestDestroyStopsAJobWithoutARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.end(rayapi.Running)
	w.loseRecord()
	require.NoError(t, w.destroy())
	assert.Equal(t, rayapi.Stopped, w.ray.Jobs[w.ray.Submissions[0].ID].Status)
}

// A job that still runs after destroy costs money unnoticed.
func TestDestroyFailsWhileAJobRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.ray.OnJobRead = func(job *rayapi.Job) { job.Status = rayapi.Running }
	err := w.destroy()
	require.ErrorIs(t, err, rayapi.ErrStillActive)
	require.ErrorContains(t, err, "kubectl -n ray delete pod")
	assert.NotEmpty(t, w.id)
}

func TestDestroyWarnsAboutAPendingJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.up())
	w.end(rayapi.Pending)
	require.NoError(t, w.destroy())
	require.Len(t, w.warnings, 1)
	assert.Contains(t, w.warnings[0], "PENDING")
}

// A head that rejects the token is refused with a cause, for a first and for a later attempt.
func TestARejectedTokenIsExplained(t *testing.T) {
	t.Parallel()
	for _, earlier := range []bool{false, true} {
		w := newWorld(t)
		if earlier {
			require.NoError(t, w.up())
			w.inputs["amiRelease"] = property.New("other")
		}
		w.ray.Token = "another"
		err := w.up()
		require.ErrorContains(t, err, "rejects the token in the Secret")
		assert.ErrorContains(t, err, "kubectl -n ray delete pod")
		assert.Equal(t, "none", w.text("verdict"))
	}
}

// The head restarts after its session was read and before the job is submitted.
func TestHeadRestartDuringTheSubmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ray.Fail = func(r *http.Request) (int, string) {
		if r.Method == http.MethodPost && r.URL.Path == "/api/jobs/" {
			w.ray.Session = "restarted"
		}
		return 0, ""
	}
	require.NoError(t, w.up())
	assert.Equal(t, "restarted", w.record()["session"])
	requests := w.ray.Requests
	upload := slices.IndexFunc(requests, func(s string) bool { return strings.HasPrefix(s, "PUT /api/packages") })
	post := slices.Index(requests, "POST /api/jobs/")
	assert.True(t, slices.Contains(requests[upload:post], "GET /api/version"), "the session is read after the upload")
}

// A response of the dashboard shows that the cluster exists, so the job must not be abandoned.
func TestDestroyWhenTheDashboardAnswersWithAnError(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusInternalServerError, http.StatusUnauthorized} {
		w := newWorld(t)
		require.NoError(t, w.up())
		w.ray.Fail = func(*http.Request) (int, string) { return status, "Traceback" }
		err := w.destroy()
		require.ErrorContains(t, err, "returned an error")
		require.ErrorContains(t, err, "kubectl -n ray delete pod -l ray.io/cluster=train")
		require.NotErrorIs(t, err, gate.ErrUnreachable)
		assert.NotContains(t, err.Error(), gate.AbandonVariable, "no advice to remove the job from the state")
	}
}

func TestClusterIsGoneOnlyInItsOwnAccount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, now string
		err, want error
	}{
		{"the same account", "1", nil, nil},
		{"another account", "2", nil, gate.ErrOtherAccount},
		{"an unknown account", "", errors.New("no credentials"), gate.ErrUnreachable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.account = "1"
			require.NoError(t, w.up())
			w.presence, w.account, w.accountErr = kube.Gone, test.now, test.err
			w.kube.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("no such host")
			})
			require.ErrorIs(t, w.destroy(), test.want)
		})
	}
}

func TestForeignJobIsNotAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ray.Fail = func(r *http.Request) (int, string) {
		if r.Method == http.MethodPost && r.URL.Path == "/api/jobs/" {
			// Another update is faster, with the same id.
			var id string
			cfg, err := w.kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "ray", "raytrain-train")
			if err == nil {
				if object, ok := cfg.(*corev1.ConfigMap); ok {
					_, after, _ := strings.Cut(object.Data["record.json"], `"submissionId":"`)
					id, _, _ = strings.Cut(after, `"`)
				}
			}
			w.ray.Jobs[id] = &rayapi.Job{SubmissionID: id, Status: rayapi.Succeeded}
		}
		return 0, ""
	}
	require.ErrorContains(t, w.up(), "another client")
	assert.Equal(t, "none", w.text("verdict"))
}
