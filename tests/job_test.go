package tests

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGateWantsWhatTheStackHas(t *testing.T) {
	t.Parallel()
	gate := green(t, options{config: map[string]string{
		"job.model": "tiny", "job.device": "cpu", "job.deadlineSeconds": "90", "job.startupSeconds": "60",
	}}).one(t, trainingJob, "gate")
	assert.Equal(t, map[string]any{
		"worldSize": 8.0, "nodes": 2.0, "gpusPerNode": 4.0, "efaPerNode": 1.0, "provider": "efa", "probes": false, "efaCounters": false,
	}, gate.get(t, "expectations"))
	training, ok := gate.get(t, "training").(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "tiny", training["model"])
	assert.Equal(t, "cpu", training["device"])
	for key, want := range map[string]any{
		"launchTemplateVersion": "3", "amiRelease": "1.36.2-20260714", "nodeType": "g6.12xlarge", "nodeCount": 2.0,
		"clusterName": "ray-train-efa", "namespace": "ray", "rayCluster": "train", "region": "us-east-2",
		"deadlineSeconds": 90.0, "readySeconds": 60.0, "hourlyUsd": 9.5548, "evidenceDir": "evidence",
	} {
		assert.Equal(t, want, gate.get(t, key), key)
	}
}

func TestGateSeesTheRayClusterThatIsMade(t *testing.T) {
	t.Parallel()
	spec := func(config map[string]string) string {
		return green(t, options{config: config}).one(t, trainingJob, "gate").text(t, "rayClusterSpec")
	}
	first := spec(nil)
	assert.Equal(t, first, spec(nil), "the same settings are the same proof")
	assert.Equal(t, first, spec(map[string]string{"job.deadlineSeconds": "60", "clusterName": "other", "maxHourlyUsd": "11"}))
	for name, config := range map[string]map[string]string{
		"digest":      {"imageDigest": "sha256:" + "00" + digest[len("sha256:")+2:]},
		"environment": {"job.environment": `{"NCCL_NET":""}`},
		"nodes":       {"gpu.nodes": "2", "ray.workerObjectStoreMiB": "100"},
	} {
		assert.NotEqual(t, first, spec(config), name)
	}
}

func TestExportsOfAGreenRun(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	assert.Equal(t, "efa", r.export(t, "verdict"))
	assert.InDelta(t, 0.5173, r.export(t, "stepsPerSecond"), 1e-9)
	assert.Equal(t, "ray-train-efa", r.export(t, "clusterName"))
	assert.Equal(t, "aws eks update-kubeconfig --region us-east-2 --name ray-train-efa", r.export(t, "kubeconfigCommand"))
	for _, name := range []string{
		"clusterName", "kubeconfig", "imageDigest", "chartVersions", "availabilityZone", "verdict", "ranks", "stepsPerSecond", "hourlyUsd", "costLines",
	} {
		assert.Contains(t, r.exports, resource.PropertyKey(name))
	}
}

func TestPlatformAlone(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{"job.enabled": "false"}})
	assert.Empty(t, r.ofType(trainingJob))
	assert.Equal(t, "none", r.export(t, "verdict"))
	assert.NotContains(t, r.exports, resource.PropertyKey("stepsPerSecond"))
	assert.Equal(t, "1200", r.one(t, rayCluster, "train").text(t, "metadata|annotations|pulumi.com/timeoutSeconds"))
	assert.JSONEq(t, `["condition=HeadPodReady","condition=RayClusterProvisioned"]`,
		r.one(t, rayCluster, "train").text(t, "metadata|annotations|pulumi.com/waitFor"), "nobody else waits for it")
}

func TestWithAJobTheJobWaits(t *testing.T) {
	t.Parallel()
	metadata := green(t, options{}).one(t, rayCluster, "train").get(t, "metadata")
	assert.NotContains(t, metadata, "annotations")
}
