package gate

import (
	"context"
	"reflect"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// NewProvider returns the provider that serves the resource.
func NewProvider(env Environment) p.Provider {
	provider := infer.Provider(infer.Options{
		Resources: []infer.InferredResource{infer.Resource(New(env))},
	})
	update := provider.Update
	// Package infer cannot mark outputs as unknown in the preview of an update; without this a preview
	// would show old values.
	provider.Update = func(ctx context.Context, req p.UpdateRequest) (p.UpdateResponse, error) {
		response, err := update(ctx, req)
		verdict := response.Properties.Get(verdictOutput)
		if err == nil && req.DryRun && verdict.IsString() && verdict.AsString() == string(jobs.VerdictNone) {
			for _, name := range outputsOfARun() {
				response.Properties = response.Properties.Set(name, property.New(property.Computed))
			}
		}
		return response, err
	}
	return provider
}

// outputsOfARun returns the names of the outputs that are known only after a run.
func outputsOfARun() []string {
	var names []string
	for field := range reflect.TypeFor[State]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		if !field.Anonymous && !slices.Contains([]string{"rehearsed", "accountId"}, name) {
			names = append(names, name)
		}
	}
	return names
}
