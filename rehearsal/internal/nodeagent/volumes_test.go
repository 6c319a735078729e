package nodeagent

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

type fakeTokens struct{}

func (fakeTokens) Token(_ context.Context, pod *corev1.Pod, _ *corev1.ServiceAccountTokenProjection) (string, error) {
	return "token of " + pod.Spec.ServiceAccountName, nil
}

func testVolumes(t *testing.T) volumes {
	t.Helper()
	folder := t.TempDir()
	return volumes{
		folder: filepath.Join(folder, "volumes"), host: filepath.Join(folder, "host"), tokens: fakeTokens{},
		source: fakeObjects{
			configMaps: map[string]map[string]string{"kube-root-ca.crt": {"ca.crt": "CA"}, "code": {"train.py": "print()", "b": "2"}},
			secrets:    map[string]map[string]string{"s": {"key": "value"}},
		},
	}
}

func TestServiceAccountVolume(t *testing.T) {
	t.Parallel()
	v, fields := testVolumes(t), testFields()
	mode := int32(0o600)
	fields.pod.Spec.Volumes = []corev1.Volume{{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		},
	}}}}
	require.NoError(t, v.prepare(t.Context(), fields))
	for name, want := range map[string]string{"token": "token of ray", "ca.crt": "CA", "namespace": "ray"} {
		path := filepath.Join(v.path("api"), name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want, string(data))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestVolumesFollowTheirObject(t *testing.T) {
	t.Parallel()
	v, fields := testVolumes(t), testFields()
	fields.pod.Spec.Volumes = []corev1.Volume{{Name: "code", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "code"}}}}}
	require.NoError(t, v.prepare(t.Context(), fields))
	v.source = fakeObjects{configMaps: map[string]map[string]string{"code": {"train.py": "print(2)"}}}
	require.NoError(t, v.prepare(t.Context(), fields))
	entries, err := os.ReadDir(v.path("code"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a key that is gone takes its file along")
	data, err := os.ReadFile(filepath.Join(v.path("code"), "train.py"))
	require.NoError(t, err)
	assert.Equal(t, "print(2)", string(data))
}

func TestEmptyDirKeepsItsContent(t *testing.T) {
	t.Parallel()
	v, fields := testVolumes(t), testFields()
	fields.pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	require.NoError(t, v.prepare(t.Context(), fields))
	require.NoError(t, os.WriteFile(filepath.Join(v.path("scratch"), "data"), nil, 0o644))
	require.NoError(t, v.prepare(t.Context(), fields))
	assert.FileExists(t, filepath.Join(v.path("scratch"), "data"))
}

func TestVolumeErrors(t *testing.T) {
	t.Parallel()
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	tests := []struct {
		name string
		in   corev1.VolumeSource
		want string
	}{
		{"absent object", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}, `secrets "none" not found`},
		{"absent key", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("code"), Items: []corev1.KeyToPath{{Key: "k", Path: "k"}}}}, "references non-existent key: k"},
		{"path that leaves", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("code"), Items: []corev1.KeyToPath{{Key: "b", Path: "../b"}}}}, `path "../b"`},
		{"type that is not rehearsed", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}, "not rehearsed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fields := testFields()
			fields.pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: test.in}}
			err := testVolumes(t).prepare(t.Context(), fields)
			require.ErrorContains(t, err, `MountVolume.SetUp failed for volume "v"`)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestVolumeMounts(t *testing.T) {
	t.Parallel()
	v := testVolumes(t)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
		{Name: "plugins", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/device-plugins"}}},
	}}}
	c := &corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "secret", MountPath: "/data/inner/secret"},
		{Name: "data", MountPath: "/data", SubPathExpr: "$(RANK)/x"},
		{Name: "plugins", MountPath: "/plugins"},
	}}
	got, err := volumeMounts(pod, c, []string{"RANK=3"}, v)
	require.NoError(t, err)
	assert.Equal(t, []podinit.Mount{
		{Kind: podinit.Bind, Source: v.path("data") + "/3/x", Target: "/data"},
		{Kind: podinit.Bind, Source: v.host + "/var/lib/kubelet/device-plugins", Target: "/plugins"},
		{Kind: podinit.Bind, Source: v.path("secret"), Target: "/data/inner/secret", ReadOnly: true},
	}, got, "outer paths first, and what objects fill is read-only")

	c.VolumeMounts = []corev1.VolumeMount{{Name: "none", MountPath: "/x"}}
	_, err = volumeMounts(pod, c, nil, v)
	require.ErrorContains(t, err, `volume mount "none"`)
}

func TestResolvConf(t *testing.T) {
	t.Parallel()
	pod := testFields().pod
	pod.Spec.DNSPolicy = corev1.DNSClusterFirst
	assert.Equal(t, "nameserver 172.20.0.10\nsearch ray.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n", resolvConf(pod, "172.20.0.10"))
	pod.Spec.HostNetwork = true
	assert.Equal(t, "nameserver 172.20.0.10\n", resolvConf(pod, "172.20.0.10"))
}
