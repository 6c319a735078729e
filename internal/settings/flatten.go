package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// groupKeys returns the first parts of names with dots. The engine keeps such settings as one
// object: it reads the names in Pulumi.yaml as paths, as `pulumi config set --path` does.
func groupKeys() []string {
	var keys []string
	for _, f := range Fields() {
		if key, _, dotted := strings.Cut(f.Key, "."); dotted && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// flatten turns the engine's config into one text per setting, by name without namespace. A name
// with dots that was set without --path is a key of its own beside the group, in which the engine
// still puts the default. Such a key wins over that default, and over nothing else.
func flatten(raw map[string]string) (map[string]string, Problems) {
	var (
		flat     = map[string]string{}
		problems Problems
		literal  = map[string]string{}
	)
	for _, full := range slices.Sorted(maps.Keys(raw)) {
		key, ours := strings.CutPrefix(full, Namespace+":")
		switch {
		case !ours:
		case slices.Contains(groupKeys(), key):
			if err := flattenGroup(flat, key, json.RawMessage(raw[full])); err != nil {
				problems = append(problems, Problem{
					Key: key, Value: raw[full], Cause: err.Error(), Allowed: "a map of settings",
					Next: fmt.Sprintf("pulumi config rm %s", key),
				})
			}
		default:
			literal[key] = raw[full]
		}
	}
	for _, key := range slices.Sorted(maps.Keys(literal)) {
		grouped, twice := flat[key]
		if twice && grouped != literal[key] && grouped != defaultOf(key) {
			problems = append(problems, Problem{
				Key: key, Value: literal[key], Cause: fmt.Sprintf("also set to %q, with --path", grouped), Allowed: "one of the two",
				Next: fmt.Sprintf("pulumi config rm %s", key),
			})
		}
		flat[key] = literal[key]
	}
	return flat, problems
}

// flattenGroup descends until it finds a setting, or something that is not an object.
func flattenGroup(flat map[string]string, path string, value json.RawMessage) error {
	_, known := fieldOf(path)
	object := strings.HasPrefix(strings.TrimSpace(string(value)), "{")
	if !object && slices.Contains(groupKeys(), path) {
		return fmt.Errorf("reading %q: %w", path, errGroup)
	}
	if known || !object {
		flat[path] = textOf(value)
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := flattenGroup(flat, path+"."+name, members[name]); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns a member as the engine passes a setting: texts without quotes, the rest as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err == nil {
		return text
	}
	return string(value)
}

func defaultOf(key string) string {
	f, _ := fieldOf(key)
	return f.Default
}
