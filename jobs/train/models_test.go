package train_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

func TestParametersAreThoseOfThePythonCode(t *testing.T) {
	t.Parallel()
	output, err := python(t, "-c",
		"import json; from raytrain_job.model import MODELS; print(json.dumps({k: v.parameters for k, v in MODELS.items()}))").Output()
	require.NoError(t, err)
	var models map[string]int64
	require.NoError(t, json.Unmarshal(output, &models))
	require.NotEmpty(t, models)
	for name, want := range models {
		got, ok := train.Parameters(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(models)), train.Models())
	assert.Equal(t, train.Models(), settings.Models(), "a model that the settings allow must be one that can be trained")
	_, ok := train.Parameters("another")
	assert.False(t, ok)
}
