package breaks

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/mistake"
)

// Program returns the program with the break's changes, which a Pulumi resource transform applies.
func (b Break) Program(
	program func(eventlog.Log) pulumi.RunFunc) func(eventlog.Log) pulumi.RunFunc {
	return func(events eventlog.Log) pulumi.RunFunc {
		run := program(events)
		return func(ctx *pulumi.Context) error {
			t := transform{changes: b.Changes, declared: map[mistake.Source]pulumi.Map{}}
			if err := ctx.RegisterResourceTransform(t.resource); err != nil {
				return fmt.Errorf("breaking the program, %q: %w", b.Name, err)
			}
			return run(ctx)
		}
	}
}

// transform applies changes to declared resources.
type transform struct {
	changes []mistake.Change

	mu       sync.Mutex
	declared map[mistake.Source]pulumi.Map
}

func (t *transform) resource(
	_ context.Context, args *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
	declared := mistake.Source{Type: args.Type, Name: args.Name}
	t.mu.Lock()
	t.declared[declared] = args.Props
	t.mu.Unlock()
	changed := false
	for _, change := range t.changes {
		if change.Type != args.Type || change.Name != args.Name {
			continue
		}
		changed = true
		t.apply(change, args.Props)
	}
	if !changed {
		return nil
	}
	return &pulumi.ResourceTransformResult{Props: args.Props, Opts: args.Opts}
}

// apply changes the input at the start of the change's path. Its value may depend on other
// resources, so the change is applied once it is known.
func (t *transform) apply(change mistake.Change, inputs pulumi.Map) {
	key, _, _ := strings.Cut(change.Path, ".")
	key, _, _ = strings.Cut(key, "[")
	source := inputs
	if change.From != nil {
		t.mu.Lock()
		source = t.declared[mistake.Source{Type: change.From.Type, Name: change.From.Name}]
		t.mu.Unlock()
	}
	//nolint:forcetypeassert // a function that returns any gives an AnyOutput
	inputs[key] = pulumi.All(inputs[key], source[key]).ApplyT(func(values []any) (any, error) {
		return alter(change, key, values[0], values[1])
	}).(pulumi.AnyOutput)
}

// alter applies a change to the value of an input.
func alter(change mistake.Change, key string, value, source any) (any, error) {
	name := resource.PropertyKey(key)
	inputs := resource.PropertyMap{name: resource.NewPropertyValue(value)}
	err := change.Apply(inputs, resource.PropertyMap{name: resource.NewPropertyValue(source)})
	return inputs.Mappable()[key], err
}
