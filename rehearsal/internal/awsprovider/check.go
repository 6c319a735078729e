package awsprovider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	presource "github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/s3"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// check validates inputs, generates missing names, and sets the defaults of pulumi-aws.
func (s *provider) check(_ context.Context, request p.CheckRequest) (p.CheckResponse, error) {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return p.CheckResponse{}, err
	}
	c := checker{kind: kind}
	inputs := c.object("", kind.Fields, request.Inputs)
	defaults := []string{}
	for _, field := range kind.Fields {
		if _, given := inputs.GetOk(field.Name); given {
			continue
		}
		switch {
		case field.Autoname:
			name, ok, err := autoname(kind, request, inputs)
			if err != nil {
				return p.CheckResponse{}, err
			}
			if ok {
				inputs = inputs.Set(field.Name, property.New(name))
				defaults = append(defaults, field.Name)
			}
		case field.Initial != "":
			inputs = inputs.Set(field.Name, initial(field))
			defaults = append(defaults, field.Name)
		}
	}
	inputs = s.tag(kind, inputs)
	slices.Sort(defaults)
	names := make([]property.Value, len(defaults))
	for i, name := range defaults {
		names[i] = property.New(name)
	}
	inputs = inputs.Set(defaultsKey, property.New(names))
	return p.CheckResponse{Inputs: inputs, Failures: c.failures}, nil
}

// initial returns the value that the provider sends by default.
func initial(field schema.Field) property.Value {
	text := property.New(field.Initial)
	if value, ok := coerceScalar(text, string(field.Type.Shape)); ok {
		return value
	}
	return text
}

// autoname keeps the name of a resource, or generates one from its logical name and seven random
// digits, as pulumi-aws does. KMS aliases begin with alias/, buckets are in lower case.
func autoname(kind schema.Kind, request p.CheckRequest, inputs property.Map) (string, bool, error) {
	for _, prefix := range []string{"namePrefix", "bucketPrefix", "nodeGroupNamePrefix"} {
		if _, ok := inputs.GetOk(prefix); ok {
			return "", false, nil
		}
	}
	for _, field := range kind.Fields {
		if !field.Autoname {
			continue
		}
		if old, ok := request.State.GetOk(field.Name); ok && old.IsString() &&
			isDefault(request.State, field.Name) {
			return old.AsString(), true, nil
		}
	}
	prefix := request.Urn.Name() + "-"
	switch kind.Token {
	case kms.Aliases.String():
		prefix = "alias/" + prefix
	case s3.Buckets.String():
		prefix = strings.ToLower(prefix)
	}
	name, err := presource.NewUniqueName(request.RandomSeed, prefix, 7, 0, nil)
	if err != nil {
		return "", false, fmt.Errorf("naming %s: %w", request.Urn, err)
	}
	return name, true, nil
}

// isDefault reports whether the provider chose an input.
func isDefault(inputs property.Map, name string) bool {
	names, ok := inputs.GetOk(defaultsKey)
	if !ok || !names.IsArray() {
		return false
	}
	for _, one := range names.AsArray().All {
		if one.IsString() && one.AsString() == name {
			return true
		}
	}
	return false
}

// tag adds tagsAll: the provider's default tags, overridden by the resource's tags.
func (s *provider) tag(kind schema.Kind, inputs property.Map) property.Map {
	if _, ok := kind.Field("tagsAll"); !ok {
		return inputs
	}
	own, given := inputs.GetOk("tags")
	if given && own.IsComputed() {
		return inputs.Set("tagsAll", property.New(property.Computed))
	}
	s.mu.Lock()
	all := map[string]property.Value{}
	for key, value := range s.defaultTags {
		all[key] = property.New(value)
	}
	s.mu.Unlock()
	if given && own.IsMap() {
		maps.Copy(all, own.AsMap().AsMap())
	}
	if len(all) == 0 {
		return inputs.Delete("tagsAll")
	}
	return inputs.Set("tagsAll", property.New(all))
}

// checker collects all problems of a resource's inputs.
type checker struct {
	kind     schema.Kind
	failures []p.CheckFailure
}

func (c *checker) fail(path, format string, args ...any) {
	c.failures = append(c.failures,
		p.CheckFailure{Property: path, Reason: fmt.Sprintf(format, args...)})
}

// object checks an object's properties and returns them with values in the schema's shapes.
func (c *checker) object(path string, fields []schema.Field, inputs property.Map) property.Map {
	checked := map[string]property.Value{}
	for name, value := range inputs.AllStable {
		field, ok := find(fields, name)
		switch {
		case name == defaultsKey || value.IsNull():
			continue
		case !ok || !field.Input():
			c.fail(join(path, name), "%s has no input %q in the emulated AWS account; it has: %s",
				c.kind.Token, join(path, name), strings.Join(schema.InputNames(fields), ", "))
			continue
		}
		checked[name] = c.value(join(path, name), field.Type, value)
	}
	for _, field := range fields {
		if _, ok := checked[field.Name]; field.Required && !ok {
			c.fail(join(path, field.Name), "Missing required argument: %s needs %q", c.kind.Token,
				join(path, field.Name))
		}
	}
	return property.NewMap(checked)
}

func (c *checker) value(path string, wanted schema.Type, value property.Value) property.Value {
	if value.IsComputed() {
		return value
	}
	if value.IsResourceReference() {
		return value.AsResourceReference().ID
	}
	switch wanted.Shape {
	case schema.Object:
		if value.IsMap() {
			return property.New(c.object(path, wanted.Fields, value.AsMap())).WithSecret(
				value.Secret())
		}
	case schema.Map:
		if value.IsMap() {
			return value
		}
	case schema.List:
		if value.IsArray() {
			items := make([]property.Value, 0, value.AsArray().Len())
			for i, item := range value.AsArray().All {
				items = append(items,
					c.value(fmt.Sprintf("%s[%d]", path, i), *wanted.Element, item))
			}
			return property.New(items).WithSecret(value.Secret())
		}
	case schema.Policy:
		if value.IsString() || value.IsMap() {
			return value
		}
	default:
		if converted, ok := coerceScalar(value, string(wanted.Shape)); ok {
			return converted
		}
	}
	c.fail(path, "%s: property %q must be a %s, got %#v", c.kind.Token, path, wanted.Shape, value)
	return value
}

func find(fields []schema.Field, name string) (schema.Field, bool) {
	return schema.Type{Fields: fields}.Field(name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
