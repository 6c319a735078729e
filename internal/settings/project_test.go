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

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
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
	// The parallel tests, some of which read the file, start after it is written.
	if !*update {
		t.Parallel()
	}
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
	for key, declared := range loaded.Config {
		assert.False(t, declared.IsExplicitlyTyped(), "the CLI would refuse values of %s itself", key)
		assert.NotNil(t, declared.Default, "the CLI would miss %s itself", key)
		assert.NotContains(t, key, ".", "the engine would write into a group")
	}
}

// declarations are the settings as a Pulumi project file declares them: those without a group, and the
// groups with their settings in a comment.
func declarations(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for i, g := range groups() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  # %s\n", g.heading)
		for _, f := range g.fields {
			assert.NotEmpty(t, f.Description, f.Key)
			key, _, dotted := strings.Cut(f.Key, ".")
			if !dotted {
				fmt.Fprintf(&b, "  %s:\n    default: %s\n", f.Key, defaultText(t, f))
				b.WriteString(description(f.Description))
				continue
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			for _, member := range g.fields {
				if strings.HasPrefix(member.Key, key+".") {
					b.WriteString(fold("  # ", fmt.Sprintf("%s (%s, default %s): %s",
						member.Key, member.Type, defaultText(t, member), member.Description)))
				}
			}
			require.NotEmpty(t, groupDescriptions()[key], key)
			fmt.Fprintf(&b, "  %s:\n    default: {}\n%s", key, description(groupDescriptions()[key]))
		}
	}
	return b.String()
}

// defaultText writes a default so that YAML reads the declared type.
func defaultText(t *testing.T, f Field) string {
	t.Helper()
	switch {
	case f.Required:
		return `""`
	case f.Type != String:
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
	return key + ">-\n" + fold("      ", text)
}

// fold breaks a text between words into lines with a prefix.
func fold(prefix, text string) string {
	var b strings.Builder
	for _, line := range screen.Wrap(text, width-len(prefix), len(text)) {
		b.WriteString(prefix + line + "\n")
	}
	return b.String()
}

func TestTheDefaultAMIReleaseIsOfTheDefaultVersion(t *testing.T) {
	t.Parallel()
	assert.True(t, strings.HasPrefix(DefaultAMIRelease, DefaultKubernetesVersion+"."))
}
