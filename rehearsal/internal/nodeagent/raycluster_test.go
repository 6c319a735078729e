package nodeagent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

// TestRealRayRunsOnRehearsedNodes is the whole of it: KubeRay's real operator,
// itself in a pod, turns a RayCluster into pods; the real scheduler binds them
// to nodes whose devices the plugins brought in; real Ray runs the commands that
// KubeRay wrote; and a job goes in, and files come out, through a port-forward.
func TestRealRayRunsOnRehearsedNodes(t *testing.T) {
	c := newCluster(t)
	c.addNode(c.spec("ip-10-0-1-10.us-east-2.compute.internal", 0, 0))
	for i := range 2 {
		c.addNode(c.spec(fmt.Sprintf("ip-10-0-1-2%d.us-east-2.compute.internal", i), 4, 1))
	}
	c.installOperator()
	c.installPlugin("nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0")
	c.installPlugin("efa-device-plugin", "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20")
	c.createRayCluster()
	began := time.Now()
	head := c.waitRayCluster(2)
	t.Logf("RayCluster ready %.1f s after its creation", time.Since(began).Seconds())

	secret, err := c.client.CoreV1().Secrets("default").Get(t.Context(), "efa", metav1.GetOptions{})
	require.NoError(t, err)
	ray := &rayClient{t: t, base: c.forward("default", head, 8265), token: string(secret.Data["auth_token"])}
	assert.Equal(t, http.StatusUnauthorized, (&rayClient{t: t, base: ray.base}).status("/api/version"))

	id := ray.submit(`python -c "
import os, ray, socket
ray.init()
@ray.remote(num_gpus=4, resources={'efa': 1})
def where():
    import os, socket, time
    folder = '/tmp/ray/session_latest/logs/gate'
    os.makedirs(folder, exist_ok=True)
    open(folder + '/rank.log', 'w').write('rank on ' + socket.gethostname())
    time.sleep(1)
    return socket.gethostname(), os.listdir('/dev/infiniband'), os.environ['CUDA_VISIBLE_DEVICES'], open('/run/raytrain-rehearsal/node-facts.json').read().count('rehearsed')
print('WHERE', sorted(ray.get([where.remote() for _ in range(2)])))
"`)
	job := ray.wait(id)
	log := ray.text("/api/jobs/" + id + "/logs")
	require.Equal(t, "SUCCEEDED", job.Status, log)
	assert.Contains(t, log, "['uverbs0'], '0,1,2,3', 1)")

	workers := 0
	for _, node := range ray.nodes() {
		if node.IsHead {
			continue
		}
		workers++
		text := ray.text("/api/v0/logs/file?node_id=" + node.ID + "&filename=gate/rank.log&lines=-1")
		assert.Contains(t, text, "rank on efa-gpu-worker-", "each node has files of its own")
	}
	assert.Equal(t, 2, workers)
	out, err := c.exec("default", head, "ray-head", nil, "bash", "-c", "ray --version; ls /dev/infiniband")
	require.Error(t, err, "the head was given no EFA")
	assert.Contains(t, out, "version 2.58.0")
	assert.Contains(t, c.logs(head, corev1.PodLogOptions{Container: "ray-head"}), "Ray runtime started")
}

func (c *cluster) installOperator() {
	t := c.t
	t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	for _, name := range []string{"ray.io_rayclusters", "ray.io_rayjobs", "ray.io_rayservices", "ray.io_raycronjobs"} {
		data, err := os.ReadFile(filepath.Join(c.tools.KubeRayCRDs, name+".yaml"))
		require.NoError(t, err)
		var crd unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal(data, &crd.Object))
		_, err = client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
			Create(t.Context(), &crd, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kube-system", Name: "default"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	labels := map[string]string{"app": "kuberay-operator"}
	_, err = c.client.AppsV1().Deployments("kube-system").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "kuberay-operator"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"role": "system"},
					Containers: []corev1.Container{{
						Name: "kuberay-operator", Image: "quay.io/kuberay/operator:v1.6.2",
						Args: []string{"--leader-election-namespace=kube-system"},
						LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
							HTTPGet: &corev1.HTTPGetAction{Path: "/metrics", Port: intstr.FromInt32(8080)},
						}, InitialDelaySeconds: 10},
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (c *cluster) installPlugin(name, image string) {
	c.t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.client.AppsV1().DaemonSets("kube-system").Create(c.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostNetwork:  true,
					NodeSelector: map[string]string{"nvidia.com/gpu.present": "true"},
					Tolerations:  []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: "plugin", Image: image,
						VolumeMounts: []corev1.VolumeMount{{Name: "plugins", MountPath: "/var/lib/kubelet/device-plugins"}},
					}},
					Volumes: []corev1.Volume{{Name: "plugins", VolumeSource: corev1.VolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/device-plugins"},
					}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

var rayClusters = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}

func (c *cluster) createRayCluster() {
	c.t.Helper()
	manifest := fmt.Sprintf(`
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: efa, namespace: default}
spec:
  rayVersion: 2.58.0
  authOptions: {mode: token}
  headGroupSpec:
    rayStartParams: {num-cpus: "0", num-gpus: "0", object-store-memory: "100000000"}
    template:
      spec:
        nodeSelector: {role: system}
        containers:
        - name: ray-head
          image: %[1]q
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]
          resources: {requests: {cpu: "2", memory: 8Gi}, limits: {cpu: "2", memory: 8Gi}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 2
    minReplicas: 2
    maxReplicas: 2
    rayStartParams: {object-store-memory: "100000000", resources: "'{\"efa\": 1}'"}
    template:
      spec:
        nodeSelector: {role: gpu-worker}
        containers:
        - name: ray-worker
          image: %[1]q
          resources:
            requests: {cpu: "40", memory: 64Gi, nvidia.com/gpu: "4", vpc.amazonaws.com/efa: "1"}
            limits: {cpu: "40", memory: 64Gi, nvidia.com/gpu: "4", vpc.amazonaws.com/efa: "1"}
`, c.registry.Ref(images.Complete))
	var object unstructured.Unstructured
	require.NoError(c.t, yaml.Unmarshal([]byte(manifest), &object.Object))
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(c.t, err)
	require.Eventually(c.t, func() bool {
		_, err := client.Resource(rayClusters).Namespace("default").Create(c.t.Context(), &object, metav1.CreateOptions{})
		return err == nil
	}, 10*time.Second, 100*time.Millisecond, "the CRD is established a moment after its creation")
}

// waitRayCluster waits for all workers, by the signs that do not stick, and
// returns the head pod's name.
func (c *cluster) waitRayCluster(workers int64) string {
	c.t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(c.t, err)
	var head string
	deadline := time.Now().Add(4 * time.Minute)
	for time.Now().Before(deadline) {
		object, err := client.Resource(rayClusters).Namespace("default").Get(c.t.Context(), "efa", metav1.GetOptions{})
		require.NoError(c.t, err)
		ready, _, _ := unstructured.NestedInt64(object.Object, "status", "readyWorkerReplicas")
		head, _, _ = unstructured.NestedString(object.Object, "status", "head", "podName")
		if ready == workers && head != "" {
			pod, err := c.client.CoreV1().Pods("default").Get(c.t.Context(), head, metav1.GetOptions{})
			require.NoError(c.t, err)
			if isReady(pod) {
				return head
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, pod := range pods.Items {
		status, err := json.MarshalIndent(pod.Status, "", " ")
		require.NoError(c.t, err)
		c.t.Logf("pod %s/%s on %q: %s", pod.Namespace, pod.Name, pod.Spec.NodeName, status)
		for _, s := range pod.Status.ContainerStatuses {
			if data, err := c.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: s.Name}).DoRaw(c.t.Context()); err == nil {
				c.t.Logf("log of %s/%s: %s", pod.Name, s.Name, data)
			}
		}
	}
	require.FailNow(c.t, "RayCluster did not get ready")
	return ""
}

// forward opens a port-forward through the API server and returns its URL.
func (c *cluster) forward(namespace, pod string, port int) string {
	t := c.t
	t.Helper()
	roundTripper, upgrader, err := spdy.RoundTripperFor(c.config)
	require.NoError(t, err)
	url := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: roundTripper}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, t.Output())
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	t.Cleanup(func() {
		close(stop)
		assert.NoError(t, <-ended)
	})
	select {
	case <-ready:
	case err := <-ended:
		require.NoError(t, err)
	}
	ports, err := forwarder.GetPorts()
	require.NoError(t, err)
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local)
}

// rayClient speaks to Ray's dashboard.
type rayClient struct {
	t           *testing.T
	base, token string
}

func (r *rayClient) do(method, path string, body any) (int, []byte) {
	r.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(r.t, err)
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, bytes.NewReader(data))
	require.NoError(r.t, err)
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(r.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return response.StatusCode, answer
}

func (r *rayClient) status(path string) int {
	status, _ := r.do(http.MethodGet, path, nil)
	return status
}

func (r *rayClient) text(path string) string {
	r.t.Helper()
	status, answer := r.do(http.MethodGet, path, nil)
	require.Equal(r.t, http.StatusOK, status, "%s: %s", path, answer)
	return string(answer)
}

func (r *rayClient) submit(entrypoint string) string {
	r.t.Helper()
	status, answer := r.do(http.MethodPost, "/api/jobs/", map[string]string{"entrypoint": entrypoint, "submission_id": "nodes-a1"})
	require.Equal(r.t, http.StatusOK, status, string(answer))
	return "nodes-a1"
}

type rayJob struct {
	Status string `json:"status"`
}

func (r *rayClient) wait(id string) (job rayJob) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		require.NoError(r.t, json.Unmarshal([]byte(r.text("/api/jobs/"+id)), &job))
		return job.Status == "SUCCEEDED" || job.Status == "FAILED" || job.Status == "STOPPED"
	}, 2*time.Minute, 300*time.Millisecond)
	return job
}

type rayNode struct {
	ID     string `json:"node_id"`
	IsHead bool   `json:"is_head_node"`
	State  string `json:"state"`
}

func (r *rayClient) nodes() []rayNode {
	r.t.Helper()
	var answer struct {
		Data struct {
			Result struct {
				Result []rayNode `json:"result"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.text("/api/v0/nodes?detail=true")), &answer))
	return answer.Data.Result.Result
}
