package settings

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// update writes the settings into Pulumi.yaml instead of comparing:
// `go test ./internal/settings -update`.
var update = flag.Bool("update", false, "rewrite Pulumi.yaml")

// configHeading is the line of Pulumi.yaml below which everything is written from the tables.
const configHeading = "config:\n"

// width is the width of a line of Pulumi.yaml.
const width = 100

// People and the engine read the project file; the program reads the tables.
func TestProjectFileDeclaresTheSameSettings(t *testing.T) {
	t.Parallel()
	const path = "../../Pulumi.yaml"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	head, _, ok := strings.Cut(string(text), configHeading)
	require.True(t, ok)
	want := head + configHeading + declarations(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	assert.Equal(t, want, string(text), "next: go test ./internal/settings -update")

	loaded, err := workspace.LoadProject(path)
	require.NoError(t, err, "the engine cannot read it")
	require.Len(t, loaded.Plugins.Providers, 1)
	assert.Equal(t, "./provider", loaded.Plugins.Providers[0].Path)
	assert.Equal(t, Namespace, string(loaded.Name))
	require.Len(t, loaded.Config, len(Fields()))
	for _, f := range Fields() {
		declared, ok := loaded.Config[f.Key]
		require.True(t, ok, f.Key)
		assert.Equal(t, string(f.Type), *declared.Type, f.Key)
		assert.Equal(t, f.Description, declared.Description, f.Key)
		assert.Equal(t, f.Required, declared.Default == nil, f.Key)
	}
}

// declarations are the settings as a Pulumi project file declares them.
func declarations(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i, g := range groups() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  # %s\n", g.heading)
		for _, f := range g.fields {
			fmt.Fprintf(&b, "  %s:\n    type: %s\n", f.Key, f.Type)
			if f.Type == Array {
				b.WriteString("    items:\n      type: string\n")
			}
			if !f.Required {
				fmt.Fprintf(&b, "    default: %s\n", defaultText(t, f))
			}
			assert.NotEmpty(t, f.Description, f.Key)
			b.WriteString(description(f.Description))
		}
	}
	return b.String()
}

// defaultText writes a default so that YAML reads the declared type.
func defaultText(t *testing.T, f Field) string {
	t.Helper()
	if f.Type != String {
		return f.Default
	}
	var plain any
	require.NoError(t, yaml.Unmarshal([]byte(f.Default), &plain))
	if text, ok := plain.(string); ok && text == f.Default {
		return f.Default
	}
	quoted, err := json.Marshal(f.Default)
	require.NoError(t, err)
	return string(quoted)
}

// description is a line, or a folded text where one line is too short or would not be a text.
func description(text string) string {
	const key = "    description: "
	if len(key+text) <= width && !strings.Contains(text, ": ") && !strings.HasPrefix(text, "[") {
		return key + text + "\n"
	}
	var b strings.Builder
	b.WriteString(key + ">-")
	line := width
	for _, word := range strings.Fields(text) {
		if line+1+len(word) > width {
			b.WriteString("\n     ")
			line = len("     ")
		}
		b.WriteString(" " + word)
		line += 1 + len(word)
	}
	return b.String() + "\n"
}

func TestTheDefaultAMIReleaseIsOfTheDefaultVersion(t *testing.T) {
	t.Parallel()
	assert.True(t, strings.HasPrefix(DefaultAMIRelease, DefaultKubernetesVersion+"."))
}
