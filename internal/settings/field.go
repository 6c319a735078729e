package settings

import (
	"fmt"
	"strings"
)

// Type is the type of a setting's value.
type Type string

// The types, named as in Pulumi project files.
const (
	String  Type = "string"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
)

// Field describes one setting: its declaration in Pulumi.yaml, its check and its field in Settings.
type Field struct {
	// Key is the name without namespace. A name with dots is a path:
	// `pulumi config set --path gpu.nodes 2`.
	Key string
	// Type is the type of the value. The program checks it, not Pulumi, so that every wrong setting is
	// reported at once.
	Type Type
	// Description is the description in Pulumi.yaml.
	Description string
	// Default is the value when none is set, in the engine's text form. Required settings have none.
	Default string
	// Required reports whether the setting must be set; it then has no default.
	Required bool
	// Allowed says which values can be used.
	Allowed string
	// Example is a valid value; for an array or object, of one member. If empty, Default is used.
	Example string
	// Member is the path of an example member of an object, and MemberType its `pulumi config set
	// --type`.
	Member, MemberType string
	// Next is the command that sets the setting, if it is not the usual one.
	Next string

	set setter
}

// command returns the command that sets the example.
func (f Field) command() string {
	example := f.Example
	if example == "" {
		example = f.Default
	}
	return f.commandFor(example)
}

// commandFor returns the command that sets a value. Without --path the CLI always stores a string,
// which the engine rejects for arrays and objects. With --path it stores numbers and booleans as
// such. Source: `pulumi config set --help`.
func (f Field) commandFor(value string) string {
	switch {
	case f.Next != "":
		return f.Next
	case f.Type == Array:
		return fmt.Sprintf("pulumi config set --path '%s[0]' '%s'", f.Key, value)
	case f.Type == Object:
		return fmt.Sprintf("pulumi config set --path --type %s '%s' '%s'", f.MemberType, f.Member, value)
	default:
		return fmt.Sprintf("pulumi config set %s%s '%s'", pathFlag(f.Key), f.Key, value)
	}
}

// pathFlag returns "--path " for a name with dots.
func pathFlag(key string) string {
	if strings.Contains(key, ".") {
		return "--path "
	}
	return ""
}
