package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// configEntry is one setting in the form of `pulumi config --json`.
type configEntry struct {
	Value string `json:"value"`
	// Object makes the engine read Value as JSON, and the key as a path.
	Object json.RawMessage `json:"objectValue,omitempty"`
	Secret bool            `json:"secret"`
}

// configJSON encodes settings in the form that `pulumi config set-all --json` reads. The Pulumi CLI
// checks a stack's file against the types and paths in Pulumi.yaml: a list must be a list, and
// gpu.nodes a member of gpu. Only a string whose key has no dots needs neither.
func configJSON(settings map[string]any) (string, error) {
	entries := make(map[string]configEntry, len(settings))
	for key, value := range settings {
		if text, ok := value.(string); ok && !strings.Contains(key, ".") {
			entries[key] = configEntry{Value: text}
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("encoding setting %q: %w", key, err)
		}
		entries[key] = configEntry{Value: string(raw), Object: raw}
	}
	out, err := json.Marshal(entries)
	if err != nil {
		return "", fmt.Errorf("encoding the settings: %w", err)
	}
	return string(out), nil
}
