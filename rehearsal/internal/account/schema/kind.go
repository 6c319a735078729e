// Package schema describes AWS resource types of a rehearsal: for each, a struct
// whose fields are its properties as pulumi-aws v6 names them, and tags that say which
// of them a program sets, which AWS fills in, and which cannot change in place.
package schema

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Shape is the form of a property's value.
type Shape string

// The shapes that properties have.
const (
	String Shape = "string"
	Number Shape = "number"
	Bool   Shape = "boolean"
	List   Shape = "list"
	Map    Shape = "map"
	Object Shape = "object"
	// Policy is a JSON document, given as a string or as an object.
	Policy Shape = "policy document"
)

// Type is a property's type: its shape and the types of its elements or fields.
type Type struct {
	Shape Shape
	// Element is the type of a list's items or a map's values.
	Element *Type
	// Fields are an object's properties.
	Fields []Field
}

// Field is one property.
type Field struct {
	Name string
	Type Type
	// Required properties must be set by the program.
	Required bool
	// Computed properties are set by AWS only.
	Computed bool
	// Default properties may be set by the program; else AWS chooses a value.
	Default bool
	// Replace properties cannot change in place.
	Replace bool
	// Hidden fields belong to the account; they are not properties.
	Hidden bool
	// Autoname is true for the property for which Pulumi generates a name.
	Autoname bool
	// Volatile properties are AWS's and may change with every update.
	Volatile bool
	// Initial is the value that pulumi-aws itself sends when the program sets none.
	Initial string
}

// Input reports whether a program may set the property.
func (f Field) Input() bool { return !f.Computed && !f.Hidden }

// IsHidden reports whether the field of a name is the account's own.
func IsHidden(name string) bool { return strings.HasPrefix(name, "_") }

// Kind is one resource type.
type Kind struct {
	// Token is the Pulumi type token, such as aws:ec2/vpc:Vpc.
	Token  string
	Fields []Field
}

// Field returns the property of a name.
func (k Kind) Field(name string) (Field, bool) { return find(k.Fields, name) }

// Field returns the property of a name inside an object.
func (t Type) Field(name string) (Field, bool) { return find(t.Fields, name) }

func find(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// InputNames lists the properties that a program may set, sorted.
func InputNames(fields []Field) []string {
	var names []string
	for _, f := range fields {
		if f.Input() {
			names = append(names, f.Name)
		}
	}
	sort.Strings(names)
	return names
}

// Describe derives a kind from the struct of its properties.
func Describe[T any](token string) (Kind, error) {
	fields, err := describeFields(reflect.TypeFor[T]())
	if err != nil {
		return Kind{}, fmt.Errorf("describing %q: %w", token, err)
	}
	return Kind{Token: token, Fields: fields}, nil
}

func describeFields(t reflect.Type) ([]Field, error) {
	var fields []Field
	for i := range t.NumField() {
		source := t.Field(i)
		if source.Anonymous {
			embedded, err := describeFields(source.Type)
			if err != nil {
				return nil, err
			}
			fields = append(fields, embedded...)
			continue
		}
		field, err := describeField(source)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func describeField(source reflect.StructField) (Field, error) {
	name, _, _ := strings.Cut(source.Tag.Get("json"), ",")
	if name == "" {
		return Field{}, fmt.Errorf("field %q has no json tag", source.Name)
	}
	field := Field{Name: name}
	for _, mark := range strings.Split(source.Tag.Get("aws"), ",") {
		switch key, value, _ := strings.Cut(mark, "="); key {
		case "":
		case "required":
			field.Required = true
		case "computed":
			field.Computed = true
		case "default":
			field.Default = true
		case "replace":
			field.Replace = true
		case "hidden":
			field.Hidden = true
		case "volatile":
			field.Volatile = true
		case "autoname":
			field.Autoname = true
		case "initial":
			field.Initial = value
		default:
			return Field{}, fmt.Errorf("field %q has an unknown mark %q", source.Name, mark)
		}
	}
	if field.Hidden != IsHidden(name) {
		return Field{}, fmt.Errorf(
			"field %q: hidden fields, and no others, have names with _ before them", source.Name)
	}
	if field.Hidden {
		return field, nil
	}
	shape, err := describeType(source.Type)
	if err != nil {
		return Field{}, fmt.Errorf("field %q: %w", source.Name, err)
	}
	field.Type = shape
	return field, nil
}

func describeType(t reflect.Type) (Type, error) {
	if t == reflect.TypeFor[Document]() {
		return Type{Shape: Policy}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describeType(t.Elem())
	case reflect.String:
		return Type{Shape: String}, nil
	case reflect.Bool:
		return Type{Shape: Bool}, nil
	case reflect.Int, reflect.Float64:
		return Type{Shape: Number}, nil
	case reflect.Slice:
		element, err := describeType(t.Elem())
		return Type{Shape: List, Element: &element}, err
	case reflect.Map:
		element, err := describeType(t.Elem())
		return Type{Shape: Map, Element: &element}, err
	case reflect.Struct:
		fields, err := describeFields(t)
		return Type{Shape: Object, Fields: fields}, err
	default:
		return Type{}, fmt.Errorf("%s is not a property's type", t)
	}
}
