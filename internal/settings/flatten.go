package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// groupKeys returns the first parts of names with dots. Each group is one object in the stack's config,
// as `pulumi config set --path` stores it.
func groupKeys() []string {
	var keys []string
	for _, f := range Fields() {
		if key, _, dotted := strings.Cut(f.Key, "."); dotted && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// flatten converts the engine's config to one string per setting, by name without namespace. A name
// with dots that was set without --path is a problem: it would be a second value next to the one in
// the group.
func flatten(raw map[string]string) (map[string]string, Problems) {
	var (
		flat     = map[string]string{}
		problems Problems
	)
	for _, full := range slices.Sorted(maps.Keys(raw)) {
		key, ours := strings.CutPrefix(full, Namespace+":")
		switch {
		case !ours:
		case slices.Contains(groupKeys(), key):
			if err := flattenGroup(flat, key, json.RawMessage(raw[full])); err != nil {
				problems = append(problems, Problem{
					Key: key, Value: raw[full], Cause: err.Error(), Allowed: "a map of settings",
					Next: "pulumi config rm " + key,
				})
			}
		case slices.Contains(groupKeys(), strings.SplitN(key, ".", 2)[0]):
			problems = append(problems, withoutPath(key, raw[full]))
		default:
			flat[key] = raw[full]
		}
	}
	return flat, problems
}

// withoutPath returns the problem of a name with dots that was set without --path.
func withoutPath(key, value string) Problem {
	set := fmt.Sprintf("pulumi config set --path %s '%s'", key, value)
	if f, ok := fieldOf(key); ok && (f.Type == Array || f.Type == Object) {
		set = f.command()
	}
	return Problem{
		Key: key, Value: value, Cause: "set without --path, so it is not in the group of its settings",
		Next: fmt.Sprintf("pulumi config rm %s && %s", key, set),
	}
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

// textOf returns a member in the engine's form: strings without quotes, other values as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err == nil && string(value) != "null" {
		return text
	}
	return string(value)
}

// Encode returns settings, keyed without namespace, in the form in which the engine passes them to
// a program and Parse reads them.
func Encode(values map[string]string) (map[string]string, error) {
	raw, grouped := map[string]string{}, map[string]map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := strings.Split(key, ".")
		if !slices.Contains(groupKeys(), path[0]) || len(path) == 1 {
			raw[Namespace+":"+key] = values[key]
			continue
		}
		if grouped[path[0]] == nil {
			grouped[path[0]] = map[string]any{}
		}
		at := grouped[path[0]]
		for _, step := range path[1 : len(path)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		var member any = values[key]
		if f, ok := fieldOf(key); ok && f.Type != String && json.Valid([]byte(values[key])) {
			member = json.RawMessage(values[key])
		}
		at[path[len(path)-1]] = member
	}
	for name, members := range grouped {
		text, err := json.Marshal(members)
		if err != nil {
			return nil, fmt.Errorf("encoding the settings %q: %w", name, err)
		}
		raw[Namespace+":"+name] = string(text)
	}
	return raw, nil
}
