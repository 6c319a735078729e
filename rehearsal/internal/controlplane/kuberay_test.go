package controlplane_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
)

const (
	gpu = corev1.ResourceName("nvidia.com/gpu")
	efa = corev1.ResourceName("vpc.amazonaws.com/efa")
	// bindingTimeout is several times what the operator and the scheduler take on a busy machine.
	bindingTimeout = 3 * time.Minute
)

// The real operator creates the pods of a RayCluster, and the real scheduler binds them to nodes
// that are API objects with the labels, taints and resources of the machines on AWS.
func TestARayClusterIsBoundToTheNodesThatFitIt(t *testing.T) {
	found := tools(t)
	began := time.Now()
	plane := start(t, controlplane.Config{Dir: t.TempDir(), Tools: found.Kubernetes,
		ClusterName: "ground"})
	api := client(t, plane)
	objects, err := dynamic.NewForConfig(plane.AdminConfig())
	require.NoError(t, err)
	applyCRDs(t, objects, found.KubeRayCRDs)
	runOperator(t, plane, found.KubeRayOperator)

	_, err = api.CoreV1().Nodes().Create(t.Context(), node("system", nil, corev1.ResourceList{
		// Allocatable of an m7i.xlarge and a g6.12xlarge with the AMIs of EKS.
		"cpu": resource.MustParse("3920m"), "memory": resource.MustParse("14Gi"), "pods": resource.MustParse("58"),
	}), metav1.CreateOptions{})
	require.NoError(t, err)
	for i := range 2 {
		_, err = api.CoreV1().Nodes().Create(t.Context(), node(fmt.Sprintf("gpu-%d", i),
			[]corev1.Taint{{Key: string(gpu), Value: "present",
				Effect: corev1.TaintEffectNoSchedule}},
			corev1.ResourceList{
				"cpu": resource.MustParse("47810m"), "memory": resource.MustParse("180Gi"), "pods": resource.MustParse("234"),
				gpu: resource.MustParse("4"), efa: resource.MustParse("1"),
			}), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	createRayCluster(t, objects)

	bound := map[string]corev1.Pod{}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		pods, err := api.CoreV1().Pods("default").List(t.Context(),
			metav1.ListOptions{LabelSelector: "ray.io/cluster=fsdp"})
		require.NoError(c, err)
		require.Len(c, pods.Items, 3, "one head and two workers")
		clear(bound)
		for _, pod := range pods.Items {
			require.NotEmpty(c, pod.Spec.NodeName, "%s: %v", pod.Name, pod.Status.Conditions)
			bound[pod.Spec.NodeName] = pod
		}
	}, bindingTimeout, 100*time.Millisecond)
	t.Logf("head and workers bound %.1f s after the control plane's start began",
		time.Since(began).Seconds())

	assert.Equal(t, "head", bound["system"].Labels["ray.io/node-type"])
	for _, name := range []string{"gpu-0", "gpu-1"} {
		pod := bound[name]
		assert.Equal(t, "worker", pod.Labels["ray.io/node-type"], name)
		// The admission plug-in that EKS runs too adds these tolerations.
		tolerated := map[string]bool{}
		for _, toleration := range pod.Spec.Tolerations {
			tolerated[toleration.Key] = true
		}
		assert.True(t, tolerated[string(gpu)] && tolerated[string(efa)], "%s tolerates %v", name,
			pod.Spec.Tolerations)
		assert.Contains(t, environmentOf(pod), "RAY_AUTH_TOKEN", name)
	}
	_, err = api.CoreV1().Secrets("default").Get(t.Context(), "fsdp", metav1.GetOptions{})
	assert.NoError(t, err, "the operator makes the token's Secret")
}

// applyCRDs creates KubeRay's kinds and waits until the API server serves them: an operator that
// starts earlier does not watch a missing kind for a while.
func applyCRDs(t *testing.T, objects dynamic.Interface, folder string) {
	t.Helper()
	kinds := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io",
		Version: "v1", Resource: "customresourcedefinitions"})
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var object unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal(content, &object.Object))
		_, err = kinds.Create(t.Context(), &object, metav1.CreateOptions{})
		require.NoError(t, err)
		served := rayv1.SchemeGroupVersion.WithResource(strings.TrimSuffix(object.GetName(),
			"."+rayv1.GroupVersion.Group))
		require.Eventually(t, func() bool {
			_, err := objects.Resource(served).List(t.Context(), metav1.ListOptions{})
			return err == nil
		}, 20*time.Second, 100*time.Millisecond, object.GetName())
	}
}

// rayClusters is the resource of RayClusters.
var rayClusters = rayv1.SchemeGroupVersion.WithResource("rayclusters")

// runOperator runs KubeRay's operator until the test ends.
func runOperator(t *testing.T, plane *controlplane.ControlPlane, binary string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	require.NoError(t, err)
	operator := exec.Command(binary, "--kubeconfig="+plane.AdminKubeconfig(),
		"--leader-election-namespace=default",
		"--enable-leader-election=false", "--metrics-addr=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
	operator.Stdout, operator.Stderr = log, log
	operator.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, operator.Start())
	t.Cleanup(func() {
		assert.NoError(t, operator.Process.Kill())
		assert.Error(t, operator.Wait(), "it was killed")
		if t.Failed() {
			content, err := os.ReadFile(log.Name())
			assert.NoError(t, err)
			t.Logf("the operator's log: %s", content)
		}
	})
}

// node returns a node that exists in the API only.
func node(name string, taints []corev1.Taint, allocatable corev1.ResourceList) *corev1.Node {
	role := "gpu-worker"
	if name == "system" {
		role = "system"
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"role": role, "kubernetes.io/os": "linux"}},
		Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: allocatable, Allocatable: allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
				Status: corev1.ConditionTrue}},
		},
	}
}

// createRayCluster creates a RayCluster with a head on the system node and a worker on each GPU
// node.
func createRayCluster(t *testing.T, objects dynamic.Interface) {
	t.Helper()
	template := func(role string, limits corev1.ResourceList) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"role": role},
			Containers: []corev1.Container{{
				Name: "ray", Image: "registry.local/ray-train@sha256:0000000000000000000000000000000000000000000000000000000000000000",
				Resources: corev1.ResourceRequirements{Requests: limits, Limits: limits},
			}},
		}}
	}
	two := int32(2)
	cluster := &rayv1.RayCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: rayv1.SchemeGroupVersion.String(),
			Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "fsdp", Namespace: "default"},
		Spec: rayv1.RayClusterSpec{
			RayVersion:  "2.58.0",
			AuthOptions: &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
			HeadGroupSpec: rayv1.HeadGroupSpec{
				RayStartParams: map[string]string{"num-cpus": "0"},
				Template: template("system",
					corev1.ResourceList{"cpu": resource.MustParse("2"),
						"memory": resource.MustParse("8Gi")}),
			},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
				GroupName: "gpu", Replicas: &two, MinReplicas: &two, MaxReplicas: &two,
				RayStartParams: map[string]string{},
				Template: template("gpu-worker", corev1.ResourceList{
					"cpu": resource.MustParse("40"), "memory": resource.MustParse("160Gi"), gpu: resource.MustParse("4"), efa: resource.MustParse("1"),
				}),
			}},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cluster)
	require.NoError(t, err)
	_, err = objects.Resource(rayClusters).Namespace("default").Create(t.Context(),
		&unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// environmentOf returns the names of the variables of a pod's first container.
func environmentOf(pod corev1.Pod) []string {
	var names []string
	for _, variable := range pod.Spec.Containers[0].Env {
		names = append(names, variable.Name)
	}
	return names
}
