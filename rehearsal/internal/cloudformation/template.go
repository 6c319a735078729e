// Package cloudformation writes the AWS resources of a Pulumi stack as a CloudFormation template,
// so that cfn-lint can check them against AWS's own resource schemas. The emulated account, which
// accepted them, is this project's code and cannot be its own judge.
package cloudformation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Template is a CloudFormation template.
type Template struct {
	Version   string              `json:"AWSTemplateFormatVersion"`
	Resources map[string]Resource `json:"Resources"`
}

// Resource is a resource of a template.
type Resource struct {
	Type       string         `json:"Type"`
	Properties map[string]any `json:"Properties"`
}

// deployment is what this package reads of `pulumi stack export`.
type deployment struct {
	Deployment struct {
		Resources []stateResource `json:"resources"`
	} `json:"deployment"`
}

type stateResource struct {
	URN    string         `json:"urn"`
	Type   string         `json:"type"`
	Inputs map[string]any `json:"inputs"`
}

// name returns the resource's name as a logical id, which has letters and digits only.
func (r stateResource) name() string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(r.Type+"::"+r.URN[strings.LastIndex(r.URN, "::")+2:],
		func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
		}) {
		b.WriteString(upperFirst(word))
	}
	return b.String()
}

// FromState returns the AWS resources of a state, as `pulumi stack export` writes it, with the
// values that the stack has. It returns an error for a resource type or an input without a rule: a
// resource that nobody checks must not look checked.
func FromState(state []byte) (Template, error) {
	var read deployment
	if err := json.Unmarshal(state, &read); err != nil {
		return Template{}, fmt.Errorf("reading the state: %w", err)
	}
	template := Template{Version: "2010-09-09", Resources: map[string]Resource{}}
	known := rules()
	var problems []error
	for _, r := range read.Deployment.Resources {
		if !strings.HasPrefix(r.Type, "aws:") {
			continue
		}
		rule, ok := known[r.Type]
		if !ok {
			problems = append(problems, fmt.Errorf(
				"resource type %q has no rule: add it to rules.go", r.Type))
			continue
		}
		properties, err := rule.properties(r.Inputs)
		if err != nil {
			problems = append(problems, fmt.Errorf("converting %q: %w", r.URN, err))
			continue
		}
		if rule.Type != "" {
			template.Resources[r.name()] = Resource{Type: rule.Type, Properties: properties}
		}
	}
	if len(template.Resources) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("the state has no AWS resources"))
	}
	return template, errors.Join(problems...)
}

// properties converts the inputs of a resource.
func (r rule) properties(inputs map[string]any) (map[string]any, error) {
	properties := map[string]any{}
	for key, value := range inputs {
		if key == "__defaults" || key == "tags" || slices.Contains(r.Drop, key) {
			continue
		}
		if key == "tagsAll" { // the tags with the provider's default tags
			if !r.MapTags {
				value = tagList(value)
			}
			properties["Tags"] = value
			continue
		}
		name := upperFirst(key)
		if renamed, ok := r.Rename[key]; ok {
			name = renamed
		}
		if slices.Contains(r.Verbatim, key) {
			properties[name] = value
			continue
		}
		properties[name] = convert(value)
	}
	if r.Shape != nil {
		if err := r.Shape(properties); err != nil {
			return nil, err
		}
	}
	return properties, nil
}

// convert converts a nested value: keys begin in upper case, and a Boolean is no string.
func convert(value any) any {
	switch value := value.(type) {
	case map[string]any:
		converted := make(map[string]any, len(value))
		for key, inner := range value {
			if key == "__defaults" {
				continue
			}
			if key == "tags" {
				converted["Tags"] = tagList(inner)
				continue
			}
			converted[upperFirst(key)] = convert(inner)
		}
		return converted
	case []any:
		converted := make([]any, len(value))
		for i, inner := range value {
			converted[i] = convert(inner)
		}
		return converted
	case string:
		if value == "true" || value == "false" {
			return value == "true"
		}
	}
	return value
}

// tag is a tag as CloudFormation writes it.
type tag struct {
	Key   string `json:"Key"`
	Value any    `json:"Value"`
}

// tagList returns tags as a list, sorted by key.
func tagList(value any) any {
	tags, ok := value.(map[string]any)
	if !ok {
		return value
	}
	var list []tag
	for key, value := range tags {
		if key != "__defaults" {
			list = append(list, tag{key, value})
		}
	}
	slices.SortFunc(list, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
