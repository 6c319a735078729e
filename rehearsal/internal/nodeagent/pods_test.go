package nodeagent_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent"
)

// patience is how long a test waits for a state, which a busy machine reaches late.
const patience = 2 * time.Minute

// waitPod waits until a pod is as wanted and returns it.
func (c *cluster) waitPod(namespace, name string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	c.t.Helper()
	var pod *corev1.Pod
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		var err error
		pod, err = c.client.CoreV1().Pods(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
		require.NoError(c.t, err)
		if wanted(pod) {
			return pod
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.FailNow(c.t, "pod did not get as wanted", "%s: %+v", name, pod.Status)
	return nil
}

func (c *cluster) createPod(pod *corev1.Pod) {
	c.t.Helper()
	// The account's controller makes it a moment after the namespace.
	require.Eventually(c.t, func() bool {
		_, err := c.client.CoreV1().ServiceAccounts(pod.Namespace).Get(c.t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, patience, 50*time.Millisecond)
	_, err := c.client.CoreV1().Pods(pod.Namespace).Create(c.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) logs(name string, options corev1.PodLogOptions) string {
	c.t.Helper()
	stream, err := c.client.CoreV1().Pods("default").GetLogs(name, &options).Stream(c.t.Context())
	require.NoError(c.t, err)
	defer stream.Close()
	data, err := io.ReadAll(stream)
	require.NoError(c.t, err)
	return string(data)
}

// exec runs a command in a pod through the API server.
func (c *cluster) exec(
	namespace, pod, container string, stdin io.Reader, command ...string,
) (string, error) {
	c.t.Helper()
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	require.NoError(c.t, err)
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &out, Stderr: &errOut})
	return out.String() + errOut.String(), err
}

func shell(name, script string) corev1.Container {
	return corev1.Container{Name: name, Image: trainingImage, Command: []string{"bash", "-c", script}}
}

// trainingImage is one that the registry knows by tag.
const trainingImage = "127.0.0.1:5000/ray-train:train-ml-cuda-v1.1"

func testPod(name string, containers ...corev1.Container) *corev1.Pod {
	grace := int64(2)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: containers, TerminationGracePeriodSeconds: &grace},
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestPodsOnARealControlPlane(t *testing.T) {
	c := newCluster(t)
	const node = "ip-10-0-1-10.us-east-2.compute.internal"
	began := time.Now()
	stop := c.addNode(c.spec(node, 0, 0))
	c.waitNode(node)
	t.Logf("node Ready %.2f s after its start", time.Since(began).Seconds())

	t.Run("lives, speaks and dies as a pod", func(t *testing.T) {
		pod := testPod("lives", shell("main", `
trap 'echo bye; exit 0' TERM
test "$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)" = default && echo token ok
getent hosts kubernetes.default.svc.cluster.local
echo "node=$NODE me=$(hostname) cpu=$CPU path-$(NODE)" >&2
echo up > /data/state
while true; do sleep 0.1; done`))
		pod.Spec.InitContainers = []corev1.Container{shell("init", "echo prepared > /data/init")}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		mount := []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		pod.Spec.InitContainers[0].VolumeMounts = mount
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = mount
		main.Env = []corev1.EnvVar{
			{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
		}
		main.ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"cat", "/data/state"}}},
			PeriodSeconds: 1,
		}
		began := time.Now()
		c.createPod(pod)
		got := c.waitPod("default", "lives", isReady)
		t.Logf("ready %.2f s after creation", time.Since(began).Seconds())
		assert.Equal(t, corev1.PodRunning, got.Status.Phase)
		assert.Regexp(t, `^127\.0\.0\.1:5000/ray-train@sha256:[0-9a-f]{64}$`, got.Status.ContainerStatuses[0].ImageID)
		assert.Equal(t, "10.0.1.10", got.Status.HostIP)
		log := c.logs("lives", corev1.PodLogOptions{})
		assert.Contains(t, log, "token ok\n")
		assert.Contains(t, log, "172.20.0.1")
		assert.Contains(t, log, "me=lives cpu=4 path-")

		out, err := c.exec("default", "lives", "main", bytes.NewBufferString("typed"), "sh", "-c", "cat /data/init -; exit 4")
		require.ErrorContains(t, err, "exit code 4")
		assert.Equal(t, "prepared\ntyped", out)

		require.NoError(t, c.client.CoreV1().Pods("default").Delete(t.Context(), "lives", metav1.DeleteOptions{}))
		require.Eventually(t, func() bool {
			_, err := c.client.CoreV1().Pods("default").Get(t.Context(), "lives", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}, patience, 50*time.Millisecond)
	})

	t.Run("restarts what fails, with its log kept", func(t *testing.T) {
		c.createPod(testPod("fails", shell("main", "echo run; exit 9")))
		got := c.waitPod("default", "fails", func(pod *corev1.Pod) bool {
			s := pod.Status.ContainerStatuses
			return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CrashLoopBackOff"
		})
		status := got.Status.ContainerStatuses[0]
		// A busy machine can show the state of a later restart first.
		assert.GreaterOrEqual(t, status.RestartCount, int32(1), "the first restart is immediate")
		assert.Equal(t, int32(9), status.LastTerminationState.Terminated.ExitCode)
		// The kubelet removes the container before last, also between a status and its log.
		require.Eventually(t, func() bool {
			return c.logs("fails", corev1.PodLogOptions{Previous: true}) == "run\n"
		}, patience, 200*time.Millisecond)
	})

	t.Run("completes", func(_ *testing.T) {
		pod := testPod("completes", shell("main", "echo done"))
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		c.createPod(pod)
		c.waitPod("default", "completes", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	})

	t.Run("says what is missing", func(t *testing.T) {
		unknown := testPod("unknown-image", shell("main", "true"))
		unknown.Spec.Containers[0].Image = "127.0.0.1:5000/nothing:v1"
		c.createPod(unknown)
		c.waitPod("default", "unknown-image", waitsFor("ImagePullBackOff"))

		secretless := testPod("secretless", shell("main", `echo "$TOKEN"; sleep 1000`))
		secretless.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}, Key: "token"},
		}}}
		c.createPod(secretless)
		c.waitPod("default", "secretless", waitsFor("CreateContainerConfigError"))
		_, err := c.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "late"}, StringData: map[string]string{"token": "there"},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.waitPod("default", "secretless", isReady)

		absent := testPod("no-program", corev1.Container{Name: "main", Image: trainingImage, Command: []string{"no-such-program"}})
		c.createPod(absent)
		got := c.waitPod("default", "no-program", waitsFor("CrashLoopBackOff"))
		assert.Contains(t, got.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message, "executable file not found in $PATH")
	})

	t.Run("restarts what is not alive", func(t *testing.T) {
		pod := testPod("hangs", shell("main", "trap '' TERM; while true; do sleep 0.1; done"))
		pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}},
			PeriodSeconds: 1, FailureThreshold: 2,
		}
		c.createPod(pod)
		got := c.waitPod("default", "hangs", func(pod *corev1.Pod) bool {
			return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 0
		})
		assert.Equal(t, int32(137), got.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	})

	t.Run("runs hooks", func(t *testing.T) {
		pod := testPod("hooks", shell("main", "while true; do sleep 0.1; done"))
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/var/hooks"},
		}}}
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		main.Lifecycle = &corev1.Lifecycle{
			PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"touch", "/data/begun"}}},
			PreStop:   &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"touch", "/data/ended"}}},
		}
		c.createPod(pod)
		c.waitPod("default", "hooks", isReady)
		folder := filepath.Join(c.dir, node, "host", "var", "hooks")
		require.FileExists(t, filepath.Join(folder, "begun"))
		require.NoFileExists(t, filepath.Join(folder, "ended"))
		require.NoError(t, c.client.CoreV1().Pods("default").Delete(t.Context(), "hooks", metav1.DeleteOptions{}))
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(folder, "ended"))
			return err == nil
		}, patience, 50*time.Millisecond)
	})

	t.Run("goes on while its kubelet restarts", func(t *testing.T) {
		c.createPod(testPod("outlives", shell("main", "while true; do sleep 0.1; done")))
		c.waitPod("default", "outlives", isReady)
		c.killKubelet(node)
		pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), "outlives", metav1.GetOptions{})
		require.NoError(t, err)
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debug", Image: trainingImage, Command: []string{"bash", "-c", "hostname; exit 3"},
		}}}
		_, err = c.client.CoreV1().Pods("default").UpdateEphemeralContainers(t.Context(), "outlives", pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		got := c.waitPod("default", "outlives", func(pod *corev1.Pod) bool {
			s := pod.Status.EphemeralContainerStatuses
			return len(s) == 1 && s[0].State.Terminated != nil
		})
		assert.Equal(t, int32(3), got.Status.EphemeralContainerStatuses[0].State.Terminated.ExitCode)
		assert.Equal(t, int32(0), got.Status.ContainerStatuses[0].RestartCount)
		assert.Equal(t, "outlives\n", c.logs("outlives", corev1.PodLogOptions{Container: "debug"}))
		out, err := c.exec("default", "outlives", "main", nil, "hostname")
		require.NoError(t, err)
		assert.Equal(t, "outlives\n", out)
	})

	t.Run("comes back with its node", func(t *testing.T) {
		c.createPod(testPod("stays", shell("main", "sleep 1000")))
		c.waitPod("default", "stays", isReady)
		once := testPod("once", shell("main", "sleep 1000"))
		once.Spec.RestartPolicy = corev1.RestartPolicyNever
		c.createPod(once)
		c.waitPod("default", "once", isReady)
		stop()
		stop = c.addNode(c.spec(node, 0, 0))
		got := c.waitPod("default", "stays", func(pod *corev1.Pod) bool {
			return pod.Status.ContainerStatuses[0].RestartCount == 1 && isReady(pod)
		})
		assert.Equal(t, "ContainerStatusUnknown", got.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason)
		c.waitPod("default", "once", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })

		stop()
		require.NoError(t, nodeagent.Deregister(t.Context(), c.config, node))
		pods, err := c.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, pod := range pods.Items {
			assert.NotEqual(t, node, pod.Spec.NodeName, pod.Name)
		}
	})
}

func waitsFor(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == reason
	}
}
