package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigJSONKeepsTypesAndPaths(t *testing.T) {
	t.Parallel()
	got, err := configJSON(map[string]any{
		"p:region":    "us-east-2",
		"p:ray.cpu":   "3",
		"p:job.steps": json.RawMessage("4"),
		"p:cidrs":     json.RawMessage(`[]`),
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"p:region":    {"value": "us-east-2", "secret": false},
		"p:ray.cpu":   {"value": "\"3\"", "objectValue": "3", "secret": false},
		"p:job.steps": {"value": "4", "objectValue": 4, "secret": false},
		"p:cidrs":     {"value": "[]", "objectValue": [], "secret": false}
	}`, got)
}

func TestConfigJSONRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	_, err := configJSON(map[string]any{"p:job.steps": json.RawMessage("four")})
	require.ErrorContains(t, err, `"p:job.steps"`)
}
