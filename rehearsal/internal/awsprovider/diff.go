package awsprovider

import (
	"context"
	"fmt"
	"slices"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// diff compares the old inputs with the new ones, property by property. A refresh writes its
// results into the old inputs, so diff also detects drift.
func (s *provider) diff(_ context.Context, request p.DiffRequest) (p.DiffResponse, error) {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return p.DiffResponse{}, err
	}
	d := differ{detailed: map[string]p.PropertyDiff{}, ignored: request.IgnoreChanges}
	d.fields("", kind.Fields, request.OldInputs, request.Inputs, false)
	response := p.DiffResponse{HasChanges: len(d.detailed) > 0, DetailedDiff: d.detailed}
	response.DeleteBeforeReplace = d.replaces && keepsName(kind, request.OldInputs, request.Inputs)
	return response, nil
}

// keepsName reports whether a replacement would have the name of the old resource, which AWS
// refuses while both exist. Auto-generated names change.
func keepsName(kind schema.Kind, old, wanted property.Map) bool {
	for _, field := range kind.Fields {
		if !field.Autoname || isDefault(wanted, field.Name) {
			continue
		}
		before, hadName := old.GetOk(field.Name)
		after, hasName := wanted.GetOk(field.Name)
		if hadName && hasName && before.Equals(after) {
			return true
		}
	}
	return false
}

// differ collects the differences of one resource.
type differ struct {
	detailed map[string]p.PropertyDiff
	ignored  []string
	replaces bool
}

func (d *differ) fields(path string, fields []schema.Field, old, wanted property.Map,
	replace bool) {
	for _, field := range fields {
		if !field.Input() {
			continue
		}
		before, had := old.GetOk(field.Name)
		after, has := wanted.GetOk(field.Name)
		had, has = had && !before.IsNull(), has && !after.IsNull()
		at := join(path, field.Name)
		forced := replace || field.Replace
		switch {
		case !had && !has, slices.Contains(d.ignored, at):
		case had && !has:
			// AWS keeps the value of a removed property if it has a default.
			if !field.Default {
				d.note(at, p.Delete, p.DeleteReplace, forced)
			}
		case !had:
			d.note(at, p.Add, p.AddReplace, forced)
		default:
			d.value(at, field.Type, before, after, forced)
		}
	}
}

func (d *differ) value(path string, shape schema.Type, before, after property.Value, replace bool) {
	switch {
	case same(shape, before, after):
	case shape.Shape == schema.Object && before.IsMap() && after.IsMap():
		d.fields(path, shape.Fields, before.AsMap(), after.AsMap(), replace)
	case shape.Shape == schema.List && shape.Element.Shape == schema.Object && before.IsArray() && after.IsArray():
		d.list(path, *shape.Element, before.AsArray(), after.AsArray(), replace)
	default:
		d.note(path, p.Update, p.UpdateReplace, replace)
	}
}

func (d *differ) list(path string, element schema.Type, before, after property.Array,
	replace bool) {
	for i := range max(before.Len(), after.Len()) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= after.Len():
			d.note(at, p.Delete, p.DeleteReplace, replace)
		case i >= before.Len():
			d.note(at, p.Add, p.AddReplace, replace)
		default:
			d.value(at, element, before.Get(i), after.Get(i), replace)
		}
	}
}

func (d *differ) note(path string, kind, replacing p.DiffKind, replace bool) {
	if replace {
		kind = replacing
		d.replaces = true
	}
	d.detailed[path] = p.PropertyDiff{Kind: kind, InputDiff: true}
}

// same reports whether two values are equal. Lists of strings are sets to AWS: their order does not
// matter. Secrets are compared by their values.
func same(shape schema.Type, before, after property.Value) bool {
	if shape.Shape == schema.List && shape.Element.Shape == schema.String && before.IsArray() &&
		after.IsArray() {
		return slices.Equal(sortedText(before.AsArray()), sortedText(after.AsArray()))
	}
	return plain(before).Equals(plain(after))
}

// plain removes the markers of secrets and dependencies at every depth.
func plain(value property.Value) property.Value {
	value = value.WithSecret(false).WithDependencies(nil)
	switch {
	case value.IsArray():
		items := make([]property.Value, 0, value.AsArray().Len())
		for _, item := range value.AsArray().All {
			items = append(items, plain(item))
		}
		return property.New(items)
	case value.IsMap():
		items := map[string]property.Value{}
		for name, item := range value.AsMap().All {
			if name != defaultsKey && !item.IsNull() {
				items[name] = plain(item)
			}
		}
		return property.New(items)
	default:
		return value
	}
}

// sortedText returns a list's items in order; an unknown item differs from every other.
func sortedText(list property.Array) []string {
	var items []string
	for i, item := range list.All {
		if item.IsString() {
			items = append(items, item.AsString())
		} else {
			items = append(items, fmt.Sprintf("\x00%d", i))
		}
	}
	slices.Sort(items)
	return items
}
