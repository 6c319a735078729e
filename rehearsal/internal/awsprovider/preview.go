package awsprovider

import (
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// previewCreate returns the expected resource: its inputs, and unknown values for everything that
// AWS chooses.
func previewCreate(kind schema.Kind, inputs property.Map) property.Map {
	return unknowns(kind.Fields, inputs.Delete(defaultsKey))
}

func unknowns(fields []schema.Field, inputs property.Map) property.Map {
	outputs := inputs
	for _, field := range fields {
		value, given := inputs.GetOk(field.Name)
		switch {
		case field.Hidden:
		case !given && (field.Computed || field.Default):
			outputs = outputs.Set(field.Name, property.New(property.Computed))
		case given && field.Type.Shape == schema.Object && value.IsMap():
			filled := unknowns(field.Type.Fields, value.AsMap())
			outputs = outputs.Set(field.Name, property.New(filled).WithSecret(value.Secret()))
		}
	}
	return outputs
}

// previewUpdate returns the expected resource after an update: its state with the new inputs, and
// unknown where AWS chooses a new value.
func previewUpdate(kind schema.Kind, state, old, inputs property.Map) property.Map {
	outputs := state
	for name := range old.All {
		field, ok := kind.Field(name)
		if _, still := inputs.GetOk(name); !still && ok && !field.Default {
			outputs = outputs.Delete(name)
		}
	}
	for name, value := range inputs.Delete(defaultsKey).All {
		field, ok := kind.Field(name)
		before, had := state.GetOk(name)
		if ok && field.Type.Shape == schema.Object && value.IsMap() && had && before.IsMap() {
			// AWS's own parts of an object, such as a cluster's security group, are kept.
			merged := before.AsMap()
			for key, part := range value.AsMap().All {
				merged = merged.Set(key, part)
			}
			value = property.New(merged).WithSecret(value.Secret())
		}
		outputs = outputs.Set(name, value)
	}
	// New tags alone do not create a new version.
	if !changesMoreThanTags(kind, old, inputs) {
		return outputs
	}
	for _, field := range kind.Fields {
		if field.Volatile {
			outputs = outputs.Set(field.Name, property.New(property.Computed))
		}
	}
	return outputs
}

func changesMoreThanTags(kind schema.Kind, old, inputs property.Map) bool {
	d := differ{detailed: map[string]p.PropertyDiff{}}
	d.fields("", kind.Fields, old, inputs, false)
	for path := range d.detailed {
		if path != "tags" && path != "tagsAll" {
			return true
		}
	}
	return false
}

// liveInputs returns the inputs after a refresh: the current value in AWS of each property that the
// program set. Without inputs, as in an import, it returns every property that a program may set.
func liveInputs(kind schema.Kind, old, live property.Map) property.Map {
	if old.Len() == 0 {
		return importInputs(kind, live)
	}
	inputs := overlap(kind.Fields, old, live)
	if defaults, ok := old.GetOk(defaultsKey); ok {
		inputs = inputs.Set(defaultsKey, defaults)
	}
	return inputs
}

func overlap(fields []schema.Field, old, live property.Map) property.Map {
	inputs := map[string]property.Value{}
	for _, field := range fields {
		before, had := old.GetOk(field.Name)
		now, has := live.GetOk(field.Name)
		switch {
		case !field.Input() || !had:
		case !has && isZero(before):
			// The account omits false, "" and empty lists.
			inputs[field.Name] = before
		case has:
			inputs[field.Name] = overlapValue(field.Type, before, now).WithSecret(before.Secret())
		}
	}
	return property.NewMap(inputs)
}

func overlapValue(shape schema.Type, before, now property.Value) property.Value {
	switch {
	case shape.Shape == schema.Object && before.IsMap() && now.IsMap():
		return property.New(overlap(shape.Fields, before.AsMap(), now.AsMap()))
	case shape.Shape == schema.List && before.IsArray() && now.IsArray() && before.AsArray().Len() == now.AsArray().Len():
		items := make([]property.Value, 0, now.AsArray().Len())
		for i, item := range now.AsArray().All {
			items = append(items, overlapValue(*shape.Element, before.AsArray().Get(i), item))
		}
		return property.New(items)
	case shape.Shape == schema.Policy && !before.IsString():
		// A policy given as an object is returned as a string.
		return before
	default:
		return now
	}
}

func importInputs(kind schema.Kind, live property.Map) property.Map {
	inputs := map[string]property.Value{}
	for _, field := range kind.Fields {
		if value, ok := live.GetOk(field.Name); ok && field.Input() && !isZero(value) {
			inputs[field.Name] = value
		}
	}
	return property.NewMap(inputs)
}

func isZero(value property.Value) bool {
	switch {
	case value.IsBool():
		return !value.AsBool()
	case value.IsNumber():
		return value.AsNumber() == 0
	case value.IsString():
		return value.AsString() == ""
	case value.IsArray():
		return value.AsArray().Len() == 0
	case value.IsMap():
		return value.AsMap().Len() == 0
	default:
		return value.IsNull()
	}
}
