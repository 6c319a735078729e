package controlplane_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
)

// tools returns the toolchain, or fails the test with what to run.
func tools(t *testing.T) toolchain.Toolchain {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	found, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	return found
}

// minorVersion returns the Kubernetes version that a stack has by default.
func minorVersion(t *testing.T) string {
	t.Helper()
	for _, field := range settings.Fields() {
		if field.Key == "kubernetesVersion" {
			return field.Default
		}
	}
	require.Fail(t, "no setting kubernetesVersion")
	return ""
}

// start starts a control plane and stops it with the test.
func start(t *testing.T, config controlplane.Config) *controlplane.ControlPlane {
	t.Helper()
	began := time.Now()
	plane, err := controlplane.Start(t.Context(), config)
	require.NoError(t, err)
	t.Logf("ready after %.1f s: %v", time.Since(began).Seconds(), plane.StartSeconds())
	t.Cleanup(func() { assert.NoError(t, plane.Stop(context.WithoutCancel(t.Context()))) })
	return plane
}

// client returns a client of a cluster administrator.
func client(t *testing.T, plane *controlplane.ControlPlane) *kubernetes.Clientset {
	t.Helper()
	made, err := kubernetes.NewForConfig(plane.AdminConfig())
	require.NoError(t, err)
	return made
}

func TestStartOnTheSameFolderBringsTheClusterBack(t *testing.T) {
	config := controlplane.Config{Dir: t.TempDir(), Tools: tools(t).Kubernetes, ClusterName: "kept",
		KubernetesVersion: minorVersion(t)}
	first := start(t, config)
	_, err := client(t, first).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "remembered"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))
	_, err = client(t, first).Discovery().ServerVersion()
	require.Error(t, err, "a stopped control plane must not answer")

	second := start(t, config)
	assert.Equal(t, first.Endpoint(), second.Endpoint(),
		"kubeconfigs of a kept rehearsal name the endpoint")
	assert.Equal(t, first.CAPEM(), second.CAPEM(),
		"kubeconfigs of a kept rehearsal hold the authority")
	// The first client, with its credentials.
	_, err = client(t, first).CoreV1().Namespaces().Get(t.Context(), "remembered",
		metav1.GetOptions{})
	assert.NoError(t, err)
	version, err := client(t, second).Discovery().ServerVersion()
	require.NoError(t, err)
	assert.Regexp(t, `^v`+regexp.QuoteMeta(minorVersion(t))+`\.[0-9]+$`, version.GitVersion,
		"kubectl and Pulumi parse it")
}

func TestAPodsCredentialsAppearInEachNamespace(t *testing.T) {
	config := controlplane.Config{Dir: t.TempDir(), Tools: tools(t).Kubernetes,
		ClusterName: "accounts"}
	plane := start(t, config)
	api := client(t, plane).CoreV1()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		root, err := api.ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt",
			metav1.GetOptions{})
		require.NoError(c, err)
		assert.Equal(c, string(plane.CAPEM()), root.Data["ca.crt"],
			"pods verify the API server by it")
		_, err = api.ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		require.NoError(c, err)
	}, 20*time.Second, 100*time.Millisecond)
}

func TestAFailedStartShowsTheEndOfTheLog(t *testing.T) {
	config := controlplane.Config{Dir: t.TempDir(), Tools: tools(t).Kubernetes, ClusterName: "old",
		KubernetesVersion: "1.20"}
	_, err := controlplane.Start(t.Context(), config)
	require.Error(t, err)
	assert.ErrorContains(t, err,
		`starting control plane "old": running kube-apiserver: it ended unexpectedly`)
	assert.ErrorContains(t, err, "1.20 is not between", "the component's own reason")
}

func TestStartRefusesAConfigurationThatCannotWork(t *testing.T) {
	good := controlplane.Config{Dir: "/tmp/x", Tools: toolchain.Kubernetes{Binary: "kubernetes"},
		ClusterName: "c"}
	for _, test := range []struct {
		name string
		in   func(*controlplane.Config)
		want string
	}{
		{"relative folder", func(c *controlplane.Config) { c.Dir = "x" },
			`directory "x": must be an absolute path`},
		{"no binary", func(c *controlplane.Config) { c.Tools = toolchain.Kubernetes{} },
			"Tools.Binary is missing"},
		{"no name", func(c *controlplane.Config) { c.ClusterName = "" }, "ClusterName is missing"},
		{"service range", func(c *controlplane.Config) { c.ServiceCIDR = "172.20.0.0" },
			`ServiceCIDR "172.20.0.0": must be a range such as`},
		{"webhook", func(c *controlplane.Config) { c.TokenWebhookURL = "here" },
			`TokenWebhookURL "here": must be a URL such as`},
		{"version", func(c *controlplane.Config) { c.KubernetesVersion = "v1.20.3" },
			`KubernetesVersion "v1.20.3": must be a minor version`},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := good
			test.in(&config)
			_, err := controlplane.Start(t.Context(), config)
			assert.ErrorContains(t, err, test.want)
		})
	}
}
