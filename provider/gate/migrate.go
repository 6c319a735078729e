package gate

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/mapper"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var _ infer.CustomStateMigrations[State] = TrainingJob{}

// StateMigrations lets this release read what another wrote: a state that lacks a field or has one
// more must not keep a stack from being destroyed. The verdict is taken as it is; the proof's hash
// decides whether it is still the required one.
func (TrainingJob) StateMigrations(context.Context) []infer.StateMigrationFunc[State] {
	return []infer.StateMigrationFunc[State]{infer.StateMigration(migrate)}
}

func migrate(_ context.Context, old property.Map) (infer.MigrationResult[State], error) {
	values := plain(resource.ToResourcePropertyMap(old))
	var state State
	if err := mapper.New(nil).Decode(values, &state); err == nil {
		return infer.MigrationResult[State]{}, nil // nothing to migrate
	}
	rename(values)
	state = State{}
	options := &mapper.Opts{IgnoreMissing: true, IgnoreUnrecognized: true}
	if err := mapper.New(options).Decode(values, &state); err != nil {
		return infer.MigrationResult[State]{}, fmt.Errorf(
			"reading the state of a training job that another release wrote: %w; next: check out that release for "+
				"`pulumi destroy`, or forget the job, which stops nothing: pulumi state delete URN", err)
	}
	return infer.MigrationResult[State]{Result: &state}, nil
}

// rename gives the values of earlier releases their present names and forms.
func rename(values map[string]any) {
	move(values, "readySeconds", "startupSeconds")
	move(values, "nodeType", "instanceType")
	move(values, "region", "awsRegion")
	if expectations, ok := values["expectations"].(map[string]any); ok {
		expectations = maps.Clone(expectations)
		move(expectations, "efaCounters", "requireEfaCounters")
		move(expectations, "probes", "requireFiInfo")
		values["expectations"] = expectations
	}
	// A refusal was a text.
	text, ok := values["refusal"].(string)
	if !ok {
		return
	}
	delete(values, "refusal")
	if text != "" {
		values["refusal"] = oldRefusal(text)
	}
}

func move(values map[string]any, from, to string) {
	if value, ok := values[from]; ok {
		values[to] = value
		delete(values, from)
	}
}

// oldRefusal keeps the whole text of an earlier release; nothing is parsed out of it.
func oldRefusal(text string) map[string]any {
	summary, rest, _ := strings.Cut(text, "\n")
	lines := []any{}
	for line := range strings.Lines(rest) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return map[string]any{
		"code": "refused-by-earlier-release", "summary": summary, "context": lines, "cause": "", "evidence": "",
		"next": "pulumi up, which runs the next attempt", "billing": "",
	}
}

// plain returns the map without the marks of secrets and dependencies. What is secret is marked
// again by its declaration.
func plain(properties resource.PropertyMap) map[string]any {
	var unwrap func(value resource.PropertyValue) (any, bool)
	unwrap = func(value resource.PropertyValue) (any, bool) {
		switch {
		case value.IsSecret():
			return value.SecretValue().Element.MapRepl(nil, unwrap), true
		case value.IsOutput():
			return value.OutputValue().Element.MapRepl(nil, unwrap), true
		default:
			return nil, false
		}
	}
	return properties.MapRepl(nil, unwrap)
}
