package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
)

// unknown is a placeholder for an unknown value.
const unknown = "<unknown>"

// plain turns a property into JSON-like Go values, with secrets opened and unknowns named.
func plain(value resource.PropertyValue) any {
	return value.MapRepl(nil, func(v resource.PropertyValue) (any, bool) {
		switch {
		case v.IsSecret():
			return plain(v.SecretValue().Element), true
		case v.IsComputed(), v.IsOutput():
			return unknown, true
		default:
			return nil, false
		}
	})
}

// at walks into objects and lists by steps parted by "|", since keys of Kubernetes have dots and
// slashes.
func at(t *testing.T, fields resource.PropertyMap, path string) resource.PropertyValue {
	t.Helper()
	value := resource.NewProperty(fields)
	for _, step := range strings.Split(path, "|") {
		switch {
		case value.IsObject():
			next, ok := value.ObjectValue()[resource.PropertyKey(step)]
			require.True(t, ok, "%q of %q is missing", step, path)
			value = next
		case value.IsArray():
			var index int
			_, err := fmt.Sscan(step, &index)
			require.NoError(t, err, "%q of %q", step, path)
			require.Less(t, index, len(value.ArrayValue()), "%q of %q", step, path)
			value = value.ArrayValue()[index]
		default:
			require.Failf(t, "nothing to walk into", "%q of %q is %v", step, path, value)
		}
	}
	return value
}

// get is an input of a resource as plain values.
func (r registration) get(t *testing.T, path string) any {
	t.Helper()
	return plain(at(t, r.inputs, path))
}

// text is an input that must be text.
func (r registration) text(t *testing.T, path string) string {
	t.Helper()
	text, ok := r.get(t, path).(string)
	require.True(t, ok, "%s of %s is no text", path, r.urn)
	return text
}

func (r registration) has(key string) bool {
	_, ok := r.inputs[resource.PropertyKey(key)]
	return ok
}
