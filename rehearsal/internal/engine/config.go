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

// configJSON turns settings into what `pulumi config set-all --json` reads. The
// Pulumi CLI holds a stack's file to the types and paths that Pulumi.yaml
// declares: a list must be a list, and gpu.nodes a member of gpu. A text
// without dots in its key is the one form that needs neither.
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
