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

// StateMigrations lets this release read states of other releases, so that a missing or additional
// field does not block pulumi destroy. The verdict is kept; the proof's hash decides whether it is
// still valid.
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
			"reading the state of a training job of another release: %w; "+
				"next: run `pulumi destroy` with that "+
				"release, or remove the job from the state without stopping it: pulumi state delete URN", err)
	}
	return infer.MigrationResult[State]{Result: &state}, nil
}

// rename converts values of earlier releases to their current names and types.
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
	// In earlier releases a refusal was a string.
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

// oldRefusal returns a refusal with the text of an earlier release.
func oldRefusal(text string) map[string]any {
	summary, rest, _ := strings.Cut(text, "\n")
	lines := []any{}
	for line := range strings.Lines(rest) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return map[string]any{
		"code": "refused-by-earlier-release", "summary": summary, "context": lines, "cause": "", "evidence": "",
		"next": "pulumi up (starts a new attempt)", "billing": "",
	}
}

// plain returns the map without secret and dependency wrappers.
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
