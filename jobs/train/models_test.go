package train_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
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
		name, _, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		names = append(names, name)
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
	err := train.Config{
		Seed: -1, MaxFailures: -1, Strategy: "fsdp3", CheckpointEvery: -1, StoragePath: "runs", RunName: "A b",
		AllReduceMebibytes: -1, KillAtStep: 1,
	}.Validate()
	require.ErrorIs(t, err, train.ErrInvalid)
	for _, option := range good.Options() {
		if _, anyValue := option.Value.(bool); anyValue {
			continue
		}
		assert.ErrorContains(t, err, option.Name+" ")
	}
}

// The training code reads the same patterns.
func TestTextOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		storagePath, runName, says string
	}{
		{"", "", ""},
		{"/runs", "a-1", ""},
		{"s3://bucket/runs", strings.Repeat("a", 63), ""},
		{"runs", "a", "storagePath runs"},
		{"/", "a", "storagePath /"},
		{"/runs", strings.Repeat("a", 64), "runName a"},
		{"/runs", "A", "runName A"},
		{"/runs", "a\n", "runName a"},
	}
	for _, test := range tests {
		config := train.Defaults()
		config.Model, config.Steps, config.BatchSize, config.SequenceLength, config.Device = "tiny", 2, 1, 2, train.CPU
		config.StoragePath, config.RunName = test.storagePath, test.runName
		if test.says == "" {
			assert.NoError(t, config.Validate())
			continue
		}
		assert.ErrorContains(t, config.Validate(), test.says)
	}
}

func TestFSDP1NeedsGPUs(t *testing.T) {
	t.Parallel()
	config := train.Defaults()
	config.Model, config.Steps, config.BatchSize, config.SequenceLength = "tiny", 2, 1, 2
	config.Device, config.Strategy = train.CUDA, train.FSDP1
	require.NoError(t, config.Validate())
	config.Device = train.CPU
	require.ErrorContains(t, config.Validate(), `strategy fsdp1 is not allowed; allowed: "fsdp1" with device "cuda" only`)
}

// A proof made before these options existed must stay valid: absent means the default.
func TestNewOptionsAtTheirDefaultChangeNothing(t *testing.T) {
	t.Parallel()
	for _, config := range []train.Config{train.Defaults(), {}} {
		for _, option := range config.Options()[9:] {
			assert.Equal(t, option.Unset, option.Value, option.Name)
		}
	}
}
