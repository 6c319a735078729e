package train_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

func TestModelsAreThoseOfThePythonCode(t *testing.T) {
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
	assert.Equal(t, slices.Sorted(maps.Keys(models)), train.Models())
	_, ok := train.Parameters("another")
	assert.False(t, ok)
}

// An option that is missing in Options would be neither checked, nor sent, nor proven.
func TestOptionsHoldEveryField(t *testing.T) {
	t.Parallel()
	var names []string
	for field := range reflect.TypeFor[train.Config]().Fields() {
		names = append(names, field.Tag.Get("pulumi"))
	}
	var options []string
	for _, option := range train.Defaults().Options() {
		options = append(options, option.Name)
	}
	assert.Equal(t, names, options)
}

func TestValidateNamesEveryProblem(t *testing.T) {
	t.Parallel()
	good := train.Defaults()
	good.Model, good.Steps, good.BatchSize, good.SequenceLength, good.Device = "tiny", 2, 1, 2, train.CPU
	require.NoError(t, good.Validate())
	err := train.Config{Seed: -1, MaxFailures: -1}.Validate()
	require.ErrorIs(t, err, train.ErrInvalid)
	for _, option := range good.Options() {
		assert.ErrorContains(t, err, option.Name+" ")
	}
}
