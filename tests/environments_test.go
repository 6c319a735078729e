package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// stackFile returns the settings in a file such as Pulumi.dev.yaml, by name.
func stackFile(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct{ Config map[string]any }
	require.NoError(t, yaml.Unmarshal(text, &file))
	values := map[string]string{}
	add := func(name string, value any) {
		written := fmt.Sprint(value)
		if list, ok := value.([]any); ok {
			encoded, err := json.Marshal(list)
			require.NoError(t, err)
			written = string(encoded)
		}
		values[name] = written
	}
	for key, value := range file.Config {
		name, ours := strings.CutPrefix(key, projectName+":")
		require.True(t, ours, key)
		if group, ok := value.(map[string]any); ok {
			for member, inner := range group {
				add(name+"."+member, inner)
			}
			continue
		}
		add(name, value)
	}
	return values
}

func TestTheDevStackEndsItsGPUNodes(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: stackFile(t, "../Pulumi.dev.yaml")})
	assert.Len(t, r.ofType(schedule), 1)
	assert.NotContains(t, strings.Join(r.warnings, "\n"), "publicAccessCidrs")
}

func TestTheProdStackIsPrivateAndProtected(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.machines["p5.48xlarge"] = machine{vcpus: 192, memoryMiB: 2097152, gpus: 8, efa: 32, cards: 32}
		c.zones["p5.48xlarge"] = []string{"us-east-2a", "us-east-2b"}
		c.quotas["L-417A185B"] = 384
	})
	r := green(t, options{cloud: &region, config: stackFile(t, "../Pulumi.prod.yaml")})
	assert.Empty(t, r.ofType(schedule))
	made := r.one(t, eksComponent, "eks")
	assert.Equal(t, false, made.get(t, "endpointPublicAccess"))
	assert.Equal(t, true, made.get(t, "endpointPrivateAccess"))
	assert.True(t, made.protect)
	assert.True(t, r.one(t, kmsKey, "secrets").protect)
	interfaces, ok := r.one(t, launchTemplate, "gpu").get(t, "networkInterfaces").([]any)
	require.True(t, ok)
	assert.Len(t, interfaces, 32)
	require.Len(t, r.prices, 1)
	assert.Less(t, r.prices[0], 115.0)
	assert.Contains(t, strings.Join(r.warnings, "\n"), "publicAccessCidrs", "the first update needs a block")
}
