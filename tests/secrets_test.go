package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKubeconfigIsSecretEverywhere(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	text, ok := r.export(t, "kubeconfig").(string)
	require.True(t, ok)
	require.Contains(t, text, "get-token")
	assert.True(t, r.exports["kubeconfig"].IsSecret(), "the export is in clear")
	assert.True(t, r.one(t, "pulumi:providers:kubernetes", "kubernetes").inputs["kubeconfig"].IsSecret())
	assert.True(t, r.one(t, trainingJob, "gate").inputs["kubeconfig"].IsSecret())
	assert.Empty(t, inClear(resource.NewProperty(r.exports), text), "an export shows it")
	for _, made := range r.all() {
		assert.Empty(t, inClear(resource.NewProperty(made.inputs), text), "%s shows it", made.urn)
	}
}

// inClear finds text outside of secrets.
func inClear(value resource.PropertyValue, text string) string {
	switch {
	case value.IsSecret():
		return ""
	case value.IsString() && strings.Contains(value.StringValue(), text):
		return value.StringValue()
	case value.IsArray():
		for _, item := range value.ArrayValue() {
			if found := inClear(item, text); found != "" {
				return found
			}
		}
	case value.IsObject():
		for _, item := range value.ObjectValue() {
			if found := inClear(item, text); found != "" {
				return found
			}
		}
	}
	return ""
}

func TestKubeconfigAsksForTokensInItsRegion(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	assert.JSONEq(t, `{
		"apiVersion": "v1", "kind": "Config", "current-context": "ray-train-efa",
		"clusters": [{"name": "ray-train-efa", "cluster": {"server": "https://eks.test", "certificate-authority-data": "Q0E="}}],
		"contexts": [{"name": "ray-train-efa", "context": {"cluster": "ray-train-efa", "user": "ray-train-efa"}}],
		"users": [{"name": "ray-train-efa", "user": {"exec": {
			"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "interactiveMode": "Never",
			"env": null, "provideClusterInfo": false,
			"args": ["eks", "get-token", "--region", "us-east-2", "--cluster-name", "ray-train-efa", "--output", "json"]
		}}}]
	}`, fmt.Sprint(r.export(t, "kubeconfig")))
}
