package tests

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

func TestGateWantsWhatTheStackHas(t *testing.T) {
	t.Parallel()
	gate := green(t, options{config: map[string]string{
		"job.model": "tiny", "job.device": "cpu", "job.deadlineSeconds": "90", "job.startupSeconds": "60",
	}}).one(t, trainingJob, "gate")
	assert.Equal(t, map[string]any{
		"worldSize": 8.0, "nodes": 2.0, "gpusPerNode": 4.0, "efaPerNode": 1.0, "provider": "efa",
		"requireFiInfo": false, "requireEfaCounters": false,
	}, gate.get(t, "expectations"))
	training, ok := gate.get(t, "training").(map[string]any)
	require.True(t, ok)
	assert.Equal(t, "tiny", training["model"])
	assert.Equal(t, "cpu", training["device"])
	for key, want := range map[string]any{
		"launchTemplateVersion": "3", "amiRelease": settings.DefaultAMIRelease, "instanceType": "g6.12xlarge",
		"clusterName": "ray-train-efa", "namespace": "ray", "rayCluster": "train", "awsRegion": "us-east-2",
		"deadlineSeconds": 90.0, "startupSeconds": 60.0, "hourlyUsd": 9.6712, "evidenceDir": "evidence",
		"efaSecurityGroupId": "efa-id",
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
	assert.Equal(t, "evidence/gate-1/report.html", r.export(t, "reportPage"))
	assert.Equal(t, "ray-train-efa", r.export(t, "clusterName"))
	assert.Equal(t, "aws eks update-kubeconfig --region us-east-2 --name ray-train-efa", r.export(t, "kubeconfigCommand"))
	for _, name := range []string{
		"clusterName", "kubeconfig", "imageDigest", "chartVersions", "availabilityZone", "verdict",
		"evidence", "stepsPerSecond", "hourlyUsd", "submissionId", "reportPath", "region",
	} {
		assert.Contains(t, r.exports, resource.PropertyKey(name))
	}
}

// Pulumi prints every output after every update.
func TestOutputsFitTheScreenAtAnySize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ranks    int
		nodes    string
		evidence string
	}{
		{8, "2", "8 of 8 ranks on 2 of 2 GPU nodes"},
		{512, "128", "512 of 512 ranks on 128 of 128 GPU nodes"},
	} {
		t.Run(test.nodes+" nodes", func(t *testing.T) {
			t.Parallel()
			region := generous().with(func(c *cloud) { c.quotas["L-DB2E81BA"] = 1e6 })
			r := green(t, options{ranks: test.ranks, cloud: &region, config: map[string]string{
				"gpu.nodes": test.nodes, "maxHourlyUsd": "10000",
			}})
			assert.Equal(t, test.evidence, r.export(t, "evidence"))
			lines := 0
			for _, value := range r.exports {
				lines += printedLines(value)
			}
			assert.LessOrEqual(t, lines, 25)
		})
	}
}

// printedLines counts the lines in which Pulumi prints a value: the brackets of lists and maps have
// lines of their own, and a secret has one.
func printedLines(value resource.PropertyValue) int {
	switch {
	case value.IsArray():
		lines := 2
		for _, item := range value.ArrayValue() {
			lines += printedLines(item)
		}
		return lines
	case value.IsObject():
		lines := 2
		for _, item := range value.ObjectValue() {
			lines += printedLines(item)
		}
		return lines
	case value.IsString():
		return 1 + strings.Count(value.StringValue(), "\n")
	default:
		return 1
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
		r.one(t, rayCluster, "train").text(t, "metadata|annotations|pulumi.com/waitFor"), "nothing else waits for it")
}

func TestWithAJobTheJobWaits(t *testing.T) {
	t.Parallel()
	metadata := green(t, options{}).one(t, rayCluster, "train").get(t, "metadata")
	assert.NotContains(t, metadata, "annotations")
}
