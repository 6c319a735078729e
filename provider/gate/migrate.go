package gate

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/mapper"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var _ infer.CustomStateMigrations[State] = TrainingJob{}

// StateMigrations lets this version read what another wrote: a state that lacks a
// field or has one more must not keep a stack from being destroyed. The verdict is
// taken as it is; whether it is still the wanted proof, the hash says.
func (TrainingJob) StateMigrations(context.Context) []infer.StateMigrationFunc[State] {
	return []infer.StateMigrationFunc[State]{infer.StateMigration(ofAnotherVersion)}
}

func ofAnotherVersion(_ context.Context, old property.Map) (infer.MigrationResult[State], error) {
	values := bare(resource.ToResourcePropertyMap(old))
	var state State
	if err := mapper.New(nil).Decode(values, &state); err == nil {
		return infer.MigrationResult[State]{}, nil // nothing to migrate
	}
	state = State{}
	options := &mapper.Opts{IgnoreMissing: true, IgnoreUnrecognized: true}
	if err := mapper.New(options).Decode(values, &state); err != nil {
		return infer.MigrationResult[State]{}, fmt.Errorf(
			"reading the state of a training job that another version wrote: %w; next: check out that version for `pulumi destroy`, "+
				"or forget the job, which stops nothing: pulumi state delete URN", err)
	}
	return infer.MigrationResult[State]{Result: &state}, nil
}

// bare is the map without the marks of secrets and dependencies. What is secret is
// marked again by its declaration.
func bare(properties resource.PropertyMap) map[string]any {
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
