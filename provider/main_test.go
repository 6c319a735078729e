package main

import (
	"encoding/json"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
)

// What the program declares and what the plugin serves must be one thing.
func TestSchemaServesTheProgramsResource(t *testing.T) {
	t.Parallel()
	served, err := p.RawServer(name, version, gate.NewProvider(gate.Environment{}))(nil)
	require.NoError(t, err)
	answer, err := served.GetSchema(t.Context(), &pulumirpc.GetSchemaRequest{})
	require.NoError(t, err)
	var schema struct {
		Name      string `json:"name"`
		Resources map[string]struct {
			Inputs     map[string]any `json:"inputProperties"`
			Properties map[string]any `json:"properties"`
		} `json:"resources"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer.Schema), &schema))
	assert.Equal(t, name, schema.Name)
	job, ok := schema.Resources[jobs.TrainingJobToken]
	require.True(t, ok)
	for _, input := range []string{"kubeconfig", "imageDigest", "expectations", "evidenceDir"} {
		assert.Contains(t, job.Inputs, input)
	}
	for _, output := range []string{"verdict", "findings", "ranks", "nodes", "pods", "efaCounters"} {
		assert.Contains(t, job.Properties, output)
		assert.NotContains(t, job.Inputs, output)
	}
	assert.Len(t, schema.Resources, 1)
}

func TestCheckReachesTheGate(t *testing.T) {
	t.Parallel()
	urn := resource.NewURN("stack", "project", "", jobs.TrainingJobToken, "gate")
	answer, err := gate.NewProvider(gate.Environment{}).Check(t.Context(), p.CheckRequest{Urn: urn, Inputs: property.NewMap(nil)})
	require.NoError(t, err)
	assert.NotEmpty(t, answer.Failures, "a job without inputs must be refused")
}
