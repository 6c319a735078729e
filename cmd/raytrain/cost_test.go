package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/cost"
)

// runCost runs `raytrain cost` and returns its output.
func runCost(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"cost"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCostOfAnotherChoice(t *testing.T) {
	t.Parallel()
	text, err := runCost(t)
	require.NoError(t, err)
	assert.Contains(t, text, "9.2032  2 x g6.12xlarge")

	text, err = runCost(t, "--type", "p5.48xlarge", "--nodes", "4", "--hours", "24", "--format", "json")
	require.NoError(t, err)
	var report cost.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	assert.Equal(t, 4, report.Lines[0].Count)
	assert.InDelta(t, 55.04, *report.Lines[0].UnitUSD, 1e-9)
	assert.InDelta(t, 24*report.HourlyUSD, report.USD, 1e-9)
	assert.Nil(t, report.SpentUSD)
}

func TestCostRefusesWhatItCannotPrice(t *testing.T) {
	t.Parallel()
	_, err := runCost(t, "--type", "x9.large")
	require.ErrorContains(t, err, "the price of [x9.large] in us-east-2 is unknown")
	_, err = runCost(t, "--hours", "0", "--nodes", "-1", "--format", "xml", "--region", "Ohio")
	for _, want := range []string{"--hours 0", "--nodes -1", `--format "xml"`, `--region "Ohio"`} {
		require.ErrorContains(t, err, want)
	}
}

// This command does not link the settings, whose packages take long to initialize.
func TestCostPricesTheDefaultSettings(t *testing.T) {
	t.Parallel()
	project, err := os.ReadFile("../../Pulumi.yaml")
	require.NoError(t, err)
	request := defaultRequest()
	for setting, value := range map[string]any{
		"gpu.instanceType (string": request.GPU.Type, "gpu.nodes (integer": request.GPU.Nodes,
		"gpu.volumeGiB (integer": request.GPU.VolumeGiB, "system.volumeGiB (integer": request.System.VolumeGiB,
		"system.instanceType (string": request.System.Type, "system.nodes (integer": request.System.Nodes,
	} {
		assert.Contains(t, string(project), fmt.Sprintf("%s, default %v)", setting, value))
	}
	assert.Contains(t, string(project), "default: "+string(request.Region)+"\n")
	assert.Contains(t, string(project), `default: "`+request.KubernetesVersion+`"`)
}
