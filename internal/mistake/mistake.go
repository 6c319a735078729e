// Package mistake changes inputs of declared resources, to test that mistakes are detected. Tests
// and `make breaks` use it, the program does not.
package mistake

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Change is a change of one input of a declared resource. Tests read changes from the environment
// variable EnvVar; rehearsal/breaks applies them in a rehearsal.
type Change struct {
	// Type and Name are the resource's type token and logical name.
	Type string `json:"type"`
	Name string `json:"name"`
	// Path is the property path of the input, such as networkInterfaces[0].securityGroups.
	Path string `json:"path"`
	// Value replaces the input; null removes it.
	Value any `json:"value,omitempty"`
	// From is an earlier resource whose input with the same path is used as the value.
	From *Source `json:"from,omitempty"`
}

// Source is a declared resource.
type Source struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// EnvVar is the environment variable that holds the changes as JSON.
const EnvVar = "RAYTRAIN_TESTS_CHANGES"

// FromEnvironment reads EnvVar.
func FromEnvironment() ([]Change, error) {
	text := os.Getenv(EnvVar)
	if text == "" {
		return nil, nil
	}
	var changes []Change
	if err := json.Unmarshal([]byte(text), &changes); err != nil {
		return nil, fmt.Errorf("reading %s: %w", EnvVar, err)
	}
	return changes, nil
}

// Apply changes the inputs of a resource. source holds the inputs of From.
func (c Change) Apply(inputs, source resource.PropertyMap) error {
	path, err := resource.ParsePropertyPath(c.Path)
	if err != nil {
		return fmt.Errorf("changing %s %q: %w", c.Type, c.Name, err)
	}
	all := resource.NewProperty(inputs)
	var ok bool
	switch {
	case c.From != nil:
		var value resource.PropertyValue
		if value, ok = path.Get(resource.NewProperty(source)); ok {
			ok = path.Set(all, value)
		}
	case c.Value != nil:
		ok = path.Set(all, resource.NewPropertyValue(c.Value))
	default:
		if _, ok = path.Get(all); ok {
			ok = path.Delete(all)
		}
	}
	if !ok {
		return fmt.Errorf("changing %s %q: it has no input %q", c.Type, c.Name, c.Path)
	}
	return nil
}
