package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestNVIDIAPluginRunsOnlyOnLabelledNodes(t *testing.T) {
	t.Parallel()
	set := decode[appsv1.DaemonSet](t, render(t, NVIDIADevicePlugin, "nvidia-device-plugin", nil),
		"DaemonSet/nvidia-device-plugin")
	pod := set.Spec.Template.Spec
	var keys []string
	for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		keys = append(keys, term.MatchExpressions[0].Key)
	}
	assert.Equal(t, []string{
		"feature.node.kubernetes.io/pci-10de.present", "feature.node.kubernetes.io/cpu-model.vendor_id", "nvidia.com/gpu.present",
	}, keys)
	assert.Equal(t, []corev1.Toleration{
		{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
		{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoSchedule},
	}, pod.Tolerations)
	assert.Equal(t, "nvcr.io/nvidia/k8s-device-plugin:v0.20.0", pod.Containers[0].Image)
	assert.Equal(t, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
	assert.Empty(t, pod.Containers[0].Command, "the image's entrypoint is the program")
}

func TestEFAPluginToleratesNoGPUTaintByDefault(t *testing.T) {
	t.Parallel()
	set := decode[appsv1.DaemonSet](t, render(t, EFADevicePlugin, "efa", nil),
		"DaemonSet/efa-aws-efa-k8s-device-plugin")
	pod := set.Spec.Template.Spec
	assert.Equal(t, []corev1.Toleration{{Key: "CriticalAddonsOnly",
		Operator: corev1.TolerationOpExists}}, pod.Tolerations)
	expressions := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions
	assert.Equal(t, "node.kubernetes.io/instance-type", expressions[0].Key)
	assert.Contains(t, expressions[0].Values, "g6.12xlarge")
	assert.NotContains(t, expressions[0].Values, "m7i.xlarge")
	assert.Equal(t, "eks.amazonaws.com/compute-type", expressions[1].Key)
	assert.Equal(t, "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20", pod.Containers[0].Image)
}

func TestEFAPluginTakesItsSettings(t *testing.T) {
	t.Parallel()
	set := decode[appsv1.DaemonSet](t, render(t, EFADevicePlugin, "efa", map[string]any{
		"tolerations": []any{map[string]any{"key": "nvidia.com/gpu",
			"operator": "Exists"}},
		"nodeSelector": map[string]any{"role": "gpu-worker"},
		"image":        map[string]any{"repository": "r.example/efa", "tag": "v1"},
		"supportedInstanceLabels": map[string]any{"keys": []any{"node.kubernetes.io/instance-type"},
			"values": []any{"g6.12xlarge"}},
		"additionalPodLabels": map[string]any{"app": "efa"},
	}), "DaemonSet/efa-aws-efa-k8s-device-plugin")
	pod := set.Spec.Template.Spec
	require.Len(t, pod.Tolerations, 2)
	assert.Equal(t, "nvidia.com/gpu", pod.Tolerations[1].Key)
	assert.Equal(t, map[string]string{"role": "gpu-worker"}, pod.NodeSelector)
	assert.Equal(t, "r.example/efa:v1", pod.Containers[0].Image)
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	assert.Equal(t, []string{"g6.12xlarge"}, terms[0].MatchExpressions[0].Values)
	assert.Equal(t, "efa", set.Spec.Template.Labels["app"])
}

func TestOperatorRunsWithItsOwnAccount(t *testing.T) {
	t.Parallel()
	documents := render(t, KubeRayOperator, "kuberay",
		map[string]any{"nodeSelector": map[string]any{"role": "system"}})
	deployment := decode[appsv1.Deployment](t, documents, "Deployment/kuberay-operator")
	pod := deployment.Spec.Template.Spec
	assert.Equal(t, "kuberay-operator", pod.ServiceAccountName)
	assert.Equal(t, map[string]string{"role": "system"}, pod.NodeSelector)
	assert.Equal(t, []string{
		"--log-stdout-encoder=json", "--log-file-encoder=json", "--enable-leader-election=true", "--enable-metrics=true",
		"--reconcile-concurrency=1", "--qps=100", "--burst=200",
		"--feature-gates=RayClusterStatusConditions=true,RayJobDeletionPolicy=true,RayMultiHostIndexing=true," +
			"RayServiceIncrementalUpgrade=false,RayCronJob=false",
	}, pod.Containers[0].Args)
	for key, value := range deployment.Spec.Selector.MatchLabels {
		assert.Equal(t, value, deployment.Spec.Template.Labels[key])
	}
	service := decode[corev1.Service](t, documents, "Service/kuberay-operator")
	assert.Equal(t, deployment.Spec.Selector.MatchLabels, service.Spec.Selector)
	decode[corev1.ServiceAccount](t, documents, "ServiceAccount/kuberay-operator")
	role := decode[rbacv1.ClusterRole](t, documents, "ClusterRole/kuberay-operator")
	assert.NotEmpty(t, role.Rules)
	for _, rule := range role.Rules {
		assert.NotContains(t, rule.Verbs, "*")
	}
	binding := decode[rbacv1.ClusterRoleBinding](t, documents,
		"ClusterRoleBinding/kuberay-operator")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, "kube-system", binding.Subjects[0].Namespace)
	decode[rbacv1.Role](t, documents, "Role/kuberay-operator-leader-election")
	decode[rbacv1.RoleBinding](t, documents, "RoleBinding/kuberay-operator-leader-election")
}

func TestOperatorOfOneNamespaceHasNoClusterRole(t *testing.T) {
	t.Parallel()
	documents := render(t, KubeRayOperator, "kuberay",
		map[string]any{"singleNamespaceInstall": true})
	assert.NotContains(t, documents, "ClusterRole/kuberay-operator")
	assert.Equal(t, "Role", decode[rbacv1.RoleBinding](t, documents,
		"RoleBinding/kuberay-operator").RoleRef.Kind)
	deployment := decode[appsv1.Deployment](t, documents, "Deployment/kuberay-operator")
	assert.Contains(t, deployment.Spec.Template.Spec.Containers[0].Args,
		"--watch-namespace=kube-system")

	documents = render(t, KubeRayOperator, "kuberay", map[string]any{
		"singleNamespaceInstall": true, "watchNamespace": []any{"ray"},
	})
	assert.Equal(t, "ray", decode[rbacv1.Role](t, documents, "Role/kuberay-operator").Namespace)
	binding := decode[rbacv1.RoleBinding](t, documents, "RoleBinding/kuberay-operator")
	assert.Equal(t, "ray", binding.Namespace)
	assert.Equal(t, "kube-system", binding.Subjects[0].Namespace, "where the operator runs")
	deployment = decode[appsv1.Deployment](t, documents, "Deployment/kuberay-operator")
	assert.Contains(t, deployment.Spec.Template.Spec.Containers[0].Args, "--watch-namespace=ray")
	assert.Equal(t, "kube-system", decode[rbacv1.Role](t, documents,
		"Role/kuberay-operator-leader-election").Namespace)
}

func newTestRepositories(t *testing.T) *Repositories {
	t.Helper()
	dir := t.TempDir()
	definition := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rayclusters.ray.io}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ray.io_rayclusters.yaml"),
		[]byte(definition), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"),
		[]byte("resources: []\n"), 0o600))
	r, err := New(dir)
	require.NoError(t, err)
	return r
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url) //nolint:gosec,noctx // A server of this test.
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // Read to its end below.
	require.Equal(t, http.StatusOK, response.StatusCode, url)
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return data
}

func TestHelmFindsEachChartByItsIndex(t *testing.T) {
	t.Parallel()
	r := newTestRepositories(t)
	server := httptest.NewServer(r.Handler())
	t.Cleanup(server.Close)
	want := map[Chart]string{NVIDIADevicePlugin: "0.20.0", EFADevicePlugin: "v0.5.30",
		KubeRayOperator: "1.6.2"}
	for _, chart := range All() {
		assert.Equal(t, want[chart], r.Version(chart))
		var listing index
		require.NoError(t, yaml.Unmarshal(get(t, server.URL+"/"+chart.Repository()+"/index.yaml"),
			&listing))
		entry := listing.Entries[string(chart)][0]
		assert.Equal(t, want[chart], entry.Version)
		archive := get(t, server.URL+"/"+chart.Repository()+"/"+entry.URLs[0])
		sum := sha256.Sum256(archive)
		assert.Equal(t, hex.EncodeToString(sum[:]), entry.Digest)
		names := namesIn(t, archive)
		assert.Contains(t, names, string(chart)+"/Chart.yaml")
		if chart == KubeRayOperator {
			assert.Contains(t, names, "kuberay-operator/crds/ray.io_rayclusters.yaml")
			assert.NotContains(t, names, "kuberay-operator/crds/kustomization.yaml")
		}
	}
	response, err := http.Get(server.URL + "/eks-charts/other.tgz") //nolint:gosec,noctx // A server of this test.
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestPackagingIsDeterministic(t *testing.T) {
	t.Parallel()
	assert.Equal(t, newTestRepositories(t).files, newTestRepositories(t).files)
}

func TestNewNeedsTheDefinitions(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := New(empty)
	require.ErrorContains(t, err, empty)
	require.ErrorContains(t, err, "make setup")
	require.NoError(t, os.WriteFile(filepath.Join(empty, "other.yaml"), []byte("kind: List\n"),
		0o600))
	_, err = New(empty)
	require.ErrorContains(t, err, "make setup")
}

func namesIn(t *testing.T, archive []byte) []string {
	t.Helper()
	decompressor, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	reader := tar.NewReader(decompressor)
	var names []string
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names = append(names, header.Name)
	}
}
