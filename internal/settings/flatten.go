package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// groups are the first parts of names with dots. The engine keeps such settings as one object: it reads the names in Pulumi.yaml
// as paths, as `pulumi config set --path` does.
func groups() []string {
	var names []string
	for _, f := range fields() {
		if group, _, dotted := strings.Cut(f.Key, "."); dotted && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	return names
}

// flatten turns the engine's config into one text a setting, by name without namespace. A name with dots that was set without
// --path is a key of its own beside the group, in which the engine then still puts the default: it wins over that, and over
// nothing else.
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
		case slices.Contains(groups(), key):
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

// flattenGroup goes down until it meets a setting, or something that is no object.
func flattenGroup(flat map[string]string, path string, value json.RawMessage) error {
	_, known := fieldOf(path)
	object := strings.HasPrefix(strings.TrimSpace(string(value)), "{")
	if !object && slices.Contains(groups(), path) {
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

// textOf is a member as the engine would pass it by itself: texts bare, everything else as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err == nil {
		return text
	}
	return string(value)
}

func fieldOf(key string) (Field, bool) {
	for _, f := range fields() {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

func defaultOf(key string) string {
	f, _ := fieldOf(key)
	return f.Default
}
