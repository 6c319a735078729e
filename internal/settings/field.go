package settings

import (
	"fmt"
	"strings"
)

// Type is the type of a setting as Pulumi.yaml declares it.
type Type string

// The types that a Pulumi project file knows.
const (
	String  Type = "string"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
)

// Field is one setting: what Pulumi.yaml declares, how it is checked and where its value goes.
type Field struct {
	// Key is the name without namespace. A name with dots is a path:
	// `pulumi config set --path gpu.nodes 2`.
	Key string
	// Type is the declared type.
	Type Type
	// Description says what the setting is for.
	Description string
	// Default is the value when none is set, in the engine's text form. Required settings have none.
	Default string
	// Required settings have no default, because no value would be right for everyone.
	Required bool
	// Allowed says which values can be used.
	Allowed string
	// Example is a usable value; of an array or an object, that of one member. The default is one too.
	Example string
	// Member is the path of the member that Example is for and MemberType its type in the words of
	// `pulumi config set --type`. Only objects have them.
	Member, MemberType string
	// Next is the command that sets it, where that is not the usual one of its type.
	Next string

	set setter
}

// command sets the setting to the example.
func (f Field) command() string {
	example := f.Example
	if example == "" {
		example = f.Default
	}
	return f.commandFor(example)
}

// commandFor sets the setting to a value. Without --path the CLI stores a text, whatever it looks
// like, which the engine refuses where Pulumi.yaml declares an array or an object. With --path the
// CLI stores what looks like a number or a boolean as one. Source: `pulumi config set --help`.
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

// pathFlag makes the CLI put a name with dots into its group, where the engine keeps the others.
func pathFlag(key string) string {
	if strings.Contains(key, ".") {
		return "--path "
	}
	return ""
}
