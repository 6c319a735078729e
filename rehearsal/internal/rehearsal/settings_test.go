package rehearsal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

func TestTypedLeavesTheProgramToNameBadValues(t *testing.T) {
	t.Parallel()
	got := typed(map[string]string{
		"gpu.nodes": "3", "job.steps": "four", "ray.headCpu": "3", "job.enabled": "false",
		"publicAccessCidrs": `["203.0.113.0/24"]`, "prices": "null", "noSuchSetting": "7",
	})
	assert.Equal(t, map[string]any{
		"ray-train-efa:gpu.nodes": json.RawMessage("3"), "ray-train-efa:job.steps": "four", "ray-train-efa:ray.headCpu": "3",
		"ray-train-efa:job.enabled": json.RawMessage("false"), "ray-train-efa:publicAccessCidrs": json.RawMessage(`["203.0.113.0/24"]`),
		"ray-train-efa:prices": "null", "ray-train-efa:noSuchSetting": "7",
	}, got)
}

// The program refuses values of another type than the setting's, so the settings file of a kept
// rehearsal must have the right ones.
func TestSettingsFileHasTheTypesOfTheSettings(t *testing.T) {
	t.Parallel()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	values := map[string]string{
		"imageDigest": "sha256:" +
			"ab", "publicAccessCidrs": `["203.0.113.0/24"]`, "adminPrincipalArns": "[]",
		"gpu.nodes": "3", "ray.headCpu": "3", "job.enabled": "false", "charts.efa.version": "v0.5.30",
		"charts.timeoutSeconds": "90", "job.environment": `{"NCCL_NET":""}`, "prices": `{"g6.12xlarge":4.6}`, "logRetentionDays": "7",
	}
	dir := t.TempDir()
	_, err = engine.New(t.Context(), engine.Config{Dir: dir, Root: root, Settings: typed(values)})
	require.NoError(t, err)

	project, err := workspace.LoadProject(filepath.Join(root, "Pulumi.yaml"))
	require.NoError(t, err)
	types := map[string]settings.Type{}
	for _, field := range settings.Fields() {
		types[field.Key] = field.Type
	}
	items := &workspace.ProjectConfigItemsType{Type: "string"}
	sink := diag.DefaultSink(os.Stderr, os.Stderr, diag.FormatOptions{Color: colors.Never})
	stack, err := workspace.LoadProjectStack(sink, project,
		engine.ShellEnvironment(dir)["PULUMI_OPTION_CONFIG_FILE"])
	require.NoError(t, err)
	for key, text := range values {
		value, ok, err := stack.Config.Get(config.MustMakeKey(settings.Namespace, key), true)
		require.NoError(t, err)
		if !assert.True(t, ok, "%s is not where its path says", key) {
			continue
		}
		have, err := value.Value(config.NopDecrypter)
		require.NoError(t, err)
		var content any = have
		if value.Object() {
			require.NoError(t, json.Unmarshal([]byte(have), &content))
		}
		assert.True(t, workspace.ValidateConfigValue(string(types[key]), items, content),
			"%s: %#v is not of type %q", key, content, types[key])
		if !value.Object() {
			assert.Equal(t, text, have, key)
		}
	}
}
