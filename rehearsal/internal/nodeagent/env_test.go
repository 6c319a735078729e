package nodeagent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fakeObjects holds objects of the namespace "ray" by name.
type fakeObjects struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string]string
}

func (f fakeObjects) ConfigMap(_, name string) (*corev1.ConfigMap, error) {
	data, ok := f.configMaps[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	return &corev1.ConfigMap{Data: data}, nil
}

func (f fakeObjects) Secret(_, name string) (*corev1.Secret, error) {
	data, ok := f.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	object := &corev1.Secret{Data: map[string][]byte{}}
	for key, value := range data {
		object.Data[key] = []byte(value)
	}
	return object, nil
}

func testFields() fieldSource {
	return fieldSource{
		pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "head", Namespace: "ray", UID: "u-1", Labels: map[string]string{"role": "head", "a": `q"`}},
			Spec: corev1.PodSpec{
				NodeName: "node-1", ServiceAccountName: "ray",
				Containers: []corev1.Container{{
					Name: "main",
					Resources: corev1.ResourceRequirements{
						Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("8Gi")},
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
					},
				}, {Name: "free"}},
			},
		},
		podIP: "10.0.128.2", hostIP: "10.0.1.10",
		allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3920m")},
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	known := newVariables([]string{"A=1", "EMPTY="})
	tests := []struct{ name, in, want string }{
		{"plain", "text", "text"},
		{"known", "x$(A)y", "x1y"},
		{"empty value", "[$(EMPTY)]", "[]"},
		{"unknown stays", "$(B)", "$(B)"},
		{"escaped", "$$(A)", "$(A)"},
		{"two dollars", "$$", "$"},
		{"shell syntax is not ours", "$A ${A}", "$A ${A}"},
		{"open end", "$(A", "$(A"},
		{"last character", "a$", "a$"},
		{"no second pass", "$($(A))", "$($(A))"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, expand(test.in, known))
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	yes := true
	source := fakeObjects{
		configMaps: map[string]map[string]string{"settings": {"B": "b", "A": "a"}},
		secrets:    map[string]map[string]string{"token": {"auth_token": "s3cret"}},
	}
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	secret := func(name, key string, optional *bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local(name), Key: key, Optional: optional}}
	}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	limit := func(name, container string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: name, ContainerName: container}}
	}
	tests := []struct {
		name string
		from []corev1.EnvFromSource
		in   []corev1.EnvVar
		want []string
		err  string
	}{
		{name: "the image's, with a PATH", want: []string{"IMAGE=i"}},
		{name: "the pod's replaces the image's", in: []corev1.EnvVar{{Name: "IMAGE", Value: "p"}}, want: []string{"IMAGE=p"}},
		{name: "references see earlier variables, not the image's",
			in:   []corev1.EnvVar{{Name: "X", Value: "1"}, {Name: "Y", Value: "$(X)$(IMAGE)$(Z)"}, {Name: "Z", Value: "z"}},
			want: []string{"IMAGE=i", "X=1", "Y=1$(IMAGE)$(Z)", "Z=z"}},
		{name: "envFrom, sorted and prefixed", from: []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local("settings")}}},
			want: []string{"IMAGE=i", "P_A=a", "P_B=b"}},
		{name: "secret key", in: []corev1.EnvVar{{Name: "T", ValueFrom: secret("token", "auth_token", nil)}}, want: []string{"IMAGE=i", "T=s3cret"}},
		{name: "optional and absent", in: []corev1.EnvVar{{Name: "T", ValueFrom: secret("none", "k", &yes)}}, want: []string{"IMAGE=i"}},
		{name: "absent secret", in: []corev1.EnvVar{{Name: "T", ValueFrom: secret("none", "k", nil)}}, err: `"none" not found`},
		{name: "absent key", in: []corev1.EnvVar{{Name: "T", ValueFrom: secret("token", "k", nil)}}, err: "couldn't find key k in Secret ray/token"},
		{name: "fields", in: []corev1.EnvVar{
			{Name: "N", ValueFrom: field("metadata.name")}, {Name: "L", ValueFrom: field("metadata.labels['role']")},
			{Name: "IP", ValueFrom: field("status.podIP")}, {Name: "H", ValueFrom: field("status.hostIP")},
		}, want: []string{"IMAGE=i", "N=head", "L=head", "IP=10.0.128.2", "H=10.0.1.10"}},
		{name: "unknown field", in: []corev1.EnvVar{{Name: "N", ValueFrom: field("status.phase")}}, err: `field path "status.phase"`},
		{name: "limits round up, and fall back to the node's", in: []corev1.EnvVar{
			{Name: "C", ValueFrom: limit("limits.cpu", "")}, {Name: "M", ValueFrom: limit("limits.memory", "")}, {Name: "F", ValueFrom: limit("limits.cpu", "free")},
		}, want: []string{"IMAGE=i", "C=2", "M=8589934592", "F=4"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := environment([]string{"IMAGE=i"}, &corev1.Container{Name: "main", Env: test.in, EnvFrom: test.from}, testFields(), source)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, append([]string{defaultPath}, test.want...), got)
		})
	}
}

func TestMissingReferencesAreConfigErrors(t *testing.T) {
	t.Parallel()
	c := &corev1.Container{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}}}}}
	_, err := environment(nil, c, testFields(), fakeObjects{})
	require.ErrorIs(t, err, errConfigMissing)
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		command, args []string
		want          []string
	}{
		{"the image's", nil, nil, []string{"entry", "default"}},
		{"args replace the image's arguments", nil, []string{"$(A)"}, []string{"entry", "1"}},
		{"a command replaces both", []string{"bash"}, nil, []string{"bash"}},
		{"both", []string{"bash", "-c"}, []string{"echo $(A)"}, []string{"bash", "-c", "echo 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &corev1.Container{Command: test.command, Args: test.args}
			assert.Equal(t, test.want, commandLine([]string{"entry"}, []string{"default"}, c, []string{"A=1"}))
		})
	}
}
