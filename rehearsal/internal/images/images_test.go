package images

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testConfig(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sitecustomize.py"),
		[]byte("import nccl_stand_in\n"), 0o600))
	return Config{Raytrain: "/bin/raytrain", RayVenv: "/venv", Operator: "/bin/kuberay-operator",
		StandIn: dir, Region: "us-east-2"}
}

func newTestRegistry(t *testing.T) *Registry {
	t.Helper()
	r, err := New(context.Background(), "127.0.0.1:5000", testConfig(t))
	require.NoError(t, err)
	return r
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	tests := []struct {
		name, in   string
		program    Program
		plugin     string
		entrypoint []string
	}{
		{name: "training image by tag", in: "127.0.0.1:5000/ray-train:train-ml-cuda-v1.1",
			program: RayTrain},
		{name: "training image by digest", in: r.Ref(Complete), program: RayTrain},
		{name: "operator of another registry", in: "quay.io/kuberay/operator:v1.6.2",
			program:    KubeRayOperator,
			entrypoint: []string{"/bin/kuberay-operator"}},
		{name: "NVIDIA plugin", in: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
			program: NVIDIADevicePlugin,
			plugin:  "nvidia.com/gpu", entrypoint: []string{"/bin/raytrain", "rehearsal-program",
				"nvidia-device-plugin"}},
		{name: "EFA plugin of the cluster's region", program: EFADevicePlugin,
			plugin:     "vpc.amazonaws.com/efa",
			in:         "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20",
			entrypoint: []string{"/bin/raytrain", "rehearsal-program", "efa-device-plugin"}},
		{name: "EFA plugin of the chart's own region", program: EFADevicePlugin,
			plugin:     "vpc.amazonaws.com/efa",
			in:         "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20",
			entrypoint: []string{"/bin/raytrain", "rehearsal-program", "efa-device-plugin"}},
		{name: "an add-on", in: AddonRef("us-east-2", CoreDNS), program: CoreDNS,
			entrypoint: []string{"/bin/raytrain", "rehearsal-program", "coredns"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			image, err := r.Resolve(context.Background(), test.in)
			require.NoError(t, err)
			assert.Equal(t, test.in, image.Ref)
			assert.Equal(t, test.program, image.Program)
			assert.Equal(t, test.plugin, image.DevicePlugin)
			assert.Equal(t, test.plugin != "", image.IsDevicePlugin())
			assert.Equal(t, test.entrypoint, image.Entrypoint)
			repository, _, _ := strings.Cut(strings.TrimSuffix(test.in, "@"+image.Digest), "@")
			if tagged, err := name.NewTag(repository); err == nil {
				repository = tagged.Context().Name()
			}
			assert.Equal(t, repository+"@"+image.Digest, image.ID)
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	absent := "sha256:" + strings.Repeat("0", 64)
	for _, ref := range []string{
		"127.0.0.1:5000/ray-train:latest",
		"127.0.0.1:5000/ray-train@" + absent,
		"127.0.0.1:5000/other:train-ml-cuda-v1.1",
		"docker.io/library/busybox:latest",
		"602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20",
	} {
		_, err := r.Resolve(context.Background(), ref)
		require.ErrorIs(t, err, ErrNotFound, ref)
		assert.ErrorContains(t, err, ref)
	}
	_, err := r.Resolve(context.Background(), "Not A Name")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotFound)
}

func TestVariantsDifferInTheirDigest(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	tests := []struct {
		in   Variant
		want []string
	}{
		{Complete, []string{"RAYTRAIN_REHEARSAL_PLUGIN=1"}},
		{Rebuilt, []string{"RAYTRAIN_REHEARSAL_PLUGIN=1"}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		image, err := r.Resolve(context.Background(), r.RayTrainRepository()+":"+test.in.Tag())
		require.NoError(t, err)
		assert.Equal(t, r.Digests()[test.in], image.Digest)
		assert.False(t, seen[image.Digest], "two builds share a digest")
		seen[image.Digest] = true
		var plugin []string
		for _, variable := range image.Env {
			if strings.HasPrefix(variable, "RAYTRAIN_REHEARSAL_PLUGIN") {
				plugin = append(plugin, variable)
			}
		}
		assert.Equal(t, test.want, plugin)
		assert.Contains(t, image.Env, "RAYTRAIN_REHEARSAL=1")
	}
}

func TestDigestsAreStable(t *testing.T) {
	t.Parallel()
	config := testConfig(t)
	first, err := New(context.Background(), "127.0.0.1:5000", config)
	require.NoError(t, err)
	second, err := New(context.Background(), "127.0.0.1:6000", config)
	require.NoError(t, err)
	assert.Equal(t, first.Digests(), second.Digests())

	require.NoError(t, os.WriteFile(filepath.Join(config.StandIn, "sitecustomize.py"),
		[]byte("# changed\n"), 0o600))
	third, err := New(context.Background(), "127.0.0.1:5000", config)
	require.NoError(t, err)
	assert.NotEqual(t, first.Digests()[Complete], third.Digests()[Complete])
}

func TestServedByTheProtocol(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	server := httptest.NewServer(r.Handler())
	t.Cleanup(server.Close)
	tag, err := name.NewTag(strings.TrimPrefix(server.URL,
		"http://")+"/ray-train:train-ml-cuda-v1.1", name.Insecure)
	require.NoError(t, err)
	head, err := remote.Head(tag)
	require.NoError(t, err)
	assert.Equal(t, r.Digests()[Complete], head.Digest.String())
}

func TestNewReportsEveryMissingSetting(t *testing.T) {
	t.Parallel()
	_, err := New(context.Background(), "127.0.0.1:5000", Config{Raytrain: "/bin/raytrain"})
	for _, want := range []string{"RayVenv", "Operator", "StandIn", "Region"} {
		require.ErrorContains(t, err, want)
	}
	config := testConfig(t)
	config.StandIn = filepath.Join(config.StandIn, "absent")
	_, err = New(context.Background(), "127.0.0.1:5000", config)
	require.ErrorContains(t, err, config.StandIn)
	config.StandIn = t.TempDir()
	_, err = New(context.Background(), "127.0.0.1:5000", config)
	require.ErrorContains(t, err, "no sitecustomize.py")
}
