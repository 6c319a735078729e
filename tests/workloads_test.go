package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/workloads"
)

const (
	headContainer   = "spec|headGroupSpec|template|spec|containers|0"
	workerPod       = "spec|workerGroupSpecs|0|template|spec"
	workerContainer = workerPod + "|containers|0"
)

func TestWorkersTakeAllDevicesOfTheirNodes(t *testing.T) {
	t.Parallel()
	made := green(t, options{}).one(t, rayCluster, "train")
	want := map[string]any{"cpu": "44", "memory": "160Gi", "nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}
	assert.Equal(t, want, (made.get(t, workerContainer+"|resources|limits")))
	assert.Equal(t, want, (made.get(t, workerContainer+"|resources|requests")), "Guaranteed means that requests equal limits")
	for _, size := range []string{"replicas", "minReplicas", "maxReplicas"} {
		assert.InDelta(t, 2, at(t, made.inputs, "spec|workerGroupSpecs|0|"+size).NumberValue(), 0, size)
	}
	assert.Equal(t, map[string]any{"role": "gpu-worker"}, (made.get(t, workerPod+"|nodeSelector")))
	assert.Equal(t, []any{map[string]any{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}},
		(made.get(t, workerPod+"|tolerations")))
}

func TestHeadHasNoDevices(t *testing.T) {
	t.Parallel()
	made := green(t, options{}).one(t, rayCluster, "train")
	resources := map[string]any{"cpu": "3", "memory": "10Gi"}
	assert.Equal(t, map[string]any{"limits": resources, "requests": resources}, (made.get(t, headContainer+"|resources")))
	assert.Equal(t, []any{map[string]any{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}}, (made.get(t, headContainer+"|env")))
	assert.Equal(t, map[string]any{"num-cpus": "0", "num-gpus": "0", "object-store-memory": "1073741824"},
		(made.get(t, "spec|headGroupSpec|rayStartParams")))
	assert.Equal(t, "17179869184", (made.get(t, "spec|workerGroupSpecs|0|rayStartParams|object-store-memory")))
}

func TestHeadThatCannotFitIsRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]string{
		"all CPUs, as AWS's sample asks": {"ray.headCpu": "4"}, "all memory": {"ray.headMemory": "16Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runProgram(t, options{config: config})
			codes, printed := r.refused(t)
			assert.Equal(t, []string{workloads.CodeHead}, codes)
			assert.Contains(t, printed, "next:     pulumi config set --path ray.headCpu")
			assert.Len(t, r.all(), 1, "nothing but the provider that asked")
		})
	}
}

func TestImageIsOneDigest(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{"imageRepository": "127.0.0.1:5000/ray"}})
	made := r.one(t, rayCluster, "train")
	want := "127.0.0.1:5000/ray@" + digest
	assert.Equal(t, want, made.get(t, headContainer+"|image"))
	assert.Equal(t, want, made.get(t, workerContainer+"|image"))
	assert.Equal(t, want, r.one(t, trainingJob, "gate").get(t, "imageDigest"))
	assert.Equal(t, digest, r.export(t, "imageDigest"))
}

func TestRayClusterIsAuthenticatedAndRecreated(t *testing.T) {
	t.Parallel()
	made := green(t, options{}).one(t, rayCluster, "train")
	assert.Equal(t, map[string]any{"mode": "token"}, (made.get(t, "spec|authOptions")), "the operator makes its own Secret")
	assert.Equal(t, "Recreate", made.get(t, "spec|upgradeStrategy|type"))
	assert.Equal(t, "2.58.0", made.get(t, "spec|rayVersion"), "token authentication needs it")
	assert.Equal(t, "ray", made.get(t, "metadata|namespace"))
	assert.Equal(t, "ray.io/v1", made.get(t, "apiVersion"))
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, override string
		want           map[string]any
	}{
		{"pinned", `{}`, map[string]any{
			"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_NET": "Libfabric", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_DEBUG": "INFO",
		}},
		{"unpinned and more", `{"NCCL_NET":"","NCCL_DEBUG":"TRACE","NCCL_ALGO":"Ring"}`, map[string]any{
			"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_DEBUG": "TRACE", "NCCL_ALGO": "Ring",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := green(t, options{config: map[string]string{"job.environment": test.override}})
			variables, ok := r.one(t, rayCluster, "train").get(t, workerContainer+"|env").([]any)
			require.True(t, ok)
			have := map[string]any{}
			for _, variable := range variables {
				entry, ok := variable.(map[string]any)
				require.True(t, ok)
				name, ok := entry["name"].(string)
				require.True(t, ok)
				have[name] = entry["value"]
			}
			assert.Equal(t, test.want, have)
			assert.Equal(t, test.want, r.one(t, trainingJob, "gate").get(t, "environment"), "job and pods see the same")
		})
	}
}

func TestDevicePluginsReachGPUNodesAndNoOthers(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	toleration := map[string]any{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
	for _, name := range []string{"nvidia-device-plugin", "aws-efa-k8s-device-plugin"} {
		made := r.one(t, release, name)
		assert.Contains(t, (made.get(t, "values|tolerations")), toleration, name)
		assert.Equal(t, map[string]any{"role": "gpu-worker"}, (made.get(t, "values|nodeSelector")), name)
		assert.Equal(t, name, made.get(t, "name"), "an automatic name would block the next install")
		assert.Equal(t, "kube-system", made.get(t, "namespace"))
	}
	efa := r.one(t, release, "aws-efa-k8s-device-plugin")
	assert.Equal(t, map[string]any{"keys": []any{"node.kubernetes.io/instance-type"}, "values": []any{"g6.12xlarge"}},
		(efa.get(t, "values|supportedInstanceLabels")))
	assert.Equal(t, "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin", efa.get(t, "values|image|repository"),
		"the chart's own is in us-west-2")
	assert.NotContains(t, r.one(t, release, "nvidia-device-plugin").get(t, "values"), "affinity",
		"the chart's own is what the node group's label is for")
}

func TestChartsComeFromSettings(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{
		"charts.nvidia.repository": "http://127.0.0.1:7000/charts", "charts.efa.version": "v0.5.19",
		"charts.kuberay.repository": "oci://127.0.0.1:7000/charts",
	}})
	assert.Equal(t, "http://127.0.0.1:7000/charts", r.one(t, release, "nvidia-device-plugin").get(t, "repositoryOpts|repo"))
	assert.Equal(t, "0.20.0", r.one(t, release, "nvidia-device-plugin").get(t, "version"))
	assert.Equal(t, "v0.5.19", r.one(t, release, "aws-efa-k8s-device-plugin").get(t, "version"))
	operator := r.one(t, release, "kuberay-operator")
	assert.Equal(t, "oci://127.0.0.1:7000/charts/kuberay-operator", operator.get(t, "chart"))
	assert.Equal(t, "kuberay-system", operator.get(t, "namespace"))
	assert.Equal(t, map[string]any{"role": "system"}, (operator.get(t, "values|nodeSelector")))
	assert.Equal(t, map[string]any{"nvidia-device-plugin": "0.20.0", "aws-efa-k8s-device-plugin": "v0.5.19", "kuberay-operator": "1.6.2"},
		r.export(t, "chartVersions"))
}

func TestNamespaceIsClosedToIngressOnly(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	policies := r.ofType("kubernetes:networking.k8s.io/v1:NetworkPolicy")
	require.Len(t, policies, 2)
	for _, policy := range policies {
		assert.Equal(t, []any{"Ingress"}, policy.get(t, "spec|policyTypes"), policy.name)
		assert.Equal(t, "ray", policy.get(t, "metadata|namespace"))
	}
	deny := r.one(t, "kubernetes:networking.k8s.io/v1:NetworkPolicy", "default-deny-ingress")
	assert.NotContains(t, (deny.get(t, "spec")), "ingress")
	allow := r.one(t, "kubernetes:networking.k8s.io/v1:NetworkPolicy", "ray-cluster-internal")
	assert.Equal(t, "train", allow.get(t, "spec|ingress|0|from|0|podSelector|matchLabels|ray.io/cluster"))
	// Nothing is ever exposed.
	for _, made := range r.all() {
		assert.False(t, strings.HasSuffix(made.typ, ":Ingress") || strings.HasSuffix(made.typ, ":Service"), made.urn)
	}
}
