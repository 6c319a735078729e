package controlplane_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
)

// noticed is how soon the end of a component must be reported, and the API must work again.
const noticed = 10 * time.Second

func TestAKilledComponentIsRestartedAndReported(t *testing.T) {
	incidents := make(chan controlplane.Incident, 10)
	plane := start(t, controlplane.Config{
		Dir: t.TempDir(), Tools: tools(t).Kubernetes, ClusterName: "killed",
		Ended: func(incident controlplane.Incident) { incidents <- incident },
	})
	api := client(t, plane)
	for _, component := range []string{"etcd", "kube-apiserver"} {
		killed := plane.PID(component)
		require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
		began := time.Now()
		incident := awaitIncident(t, incidents, component)
		assert.True(t, incident.Restarted)
		require.EqualError(t, incident.Reason, "it ended unexpectedly: signal: killed")
		require.ErrorContains(t, incident.Err,
			"running "+component+": it ended unexpectedly: signal: killed")
		assert.NotEqual(t, killed, plane.PID(component))
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := api.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
			require.NoError(c, err)
		}, noticed, 100*time.Millisecond, component)
		t.Logf("the API works %.1f s after the end of %s", time.Since(began).Seconds(), component)
	}
}

// awaitIncident returns the first incident of component. Others may precede it: the controller
// manager ends by itself when it loses its lease, as it does on a busy machine without an API.
func awaitIncident(
	t *testing.T, incidents <-chan controlplane.Incident, component string,
) controlplane.Incident {
	t.Helper()
	deadline := time.After(noticed)
	for {
		select {
		case incident := <-incidents:
			if incident.Component == component {
				return incident
			}
			t.Logf("%s ended too: %v", incident.Component, incident.Reason)
		case <-deadline:
			require.Fail(t, "the end was not reported", component)
		}
	}
}

// A component that cannot run, here because its data is gone, must not be restarted for ever.
func TestAComponentThatEndsAgainAndAgainIsReportedAsLost(t *testing.T) {
	incidents := make(chan controlplane.Incident, 10)
	dir := t.TempDir()
	plane := start(t, controlplane.Config{
		Dir: dir, Tools: tools(t).Kubernetes, ClusterName: "lost",
		Ended: func(incident controlplane.Incident) { incidents <- incident },
	})
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "etcd")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o600))
	require.NoError(t, syscall.Kill(plane.PID("etcd"), syscall.SIGKILL))
	deadline := time.After(noticed)
	for {
		select {
		case incident := <-incidents:
			if incident.Component == "etcd" && !incident.Restarted {
				return
			}
		case <-deadline:
			require.Fail(t, "etcd is not reported as lost")
		}
	}
}
