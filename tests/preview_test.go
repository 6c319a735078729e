package tests

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first preview knows nothing that AWS makes up. The program must still ask for the same
// resources.
func TestFirstPreview(t *testing.T) {
	t.Parallel()
	preview, up := green(t, options{preview: true}), green(t, options{})
	var planned, made []string
	for _, r := range preview.all() {
		planned = append(planned, r.urn)
	}
	for _, r := range up.all() {
		made = append(made, r.urn)
	}
	assert.Equal(t, made, planned)

	template := preview.one(t, launchTemplate, "gpu")
	assert.Equal(t, []any{unknown, unknown}, (template.get(t, "networkInterfaces|0|securityGroups")))
	assert.Equal(t, "efa", template.get(t, "networkInterfaces|0|interfaceType"))
	gate := preview.one(t, trainingJob, "gate")
	assert.Equal(t, unknown, gate.get(t, "kubeconfig"))
	assert.Equal(t, unknown, gate.get(t, "launchTemplateVersion"))
	assert.Equal(t, "us-east-2b", preview.export(t, "availabilityZone"), "the zone is known before anything is made")
	assert.InDelta(t, 9.6712, preview.export(t, "hourlyUsd"), 1e-9)
	assert.NotEqual(t, "efa", preview.export(t, "verdict"), "a preview has no verdict")
}

// A first update cannot reach an API server inside the VPC that it makes. That is allowed, with a
// warning.
func TestAPrivateEndpointIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, preview := range []bool{true, false} {
		warned := green(t, options{preview: preview, config: map[string]string{"publicAccessCidrs": "[]"}}).warnings
		require.Len(t, warned, 1)
		assert.Contains(t, warned[0], "publicAccessCidrs is []")
		assert.Contains(t, warned[0], "An update from outside that VPC fails")
		assert.Contains(t, warned[0], "next:     pulumi config set --path 'publicAccessCidrs[0]'")
		assert.Empty(t, green(t, options{preview: preview}).warnings, "only then")
	}
}
