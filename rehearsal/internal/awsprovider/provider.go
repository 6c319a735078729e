// Package awsprovider is the Pulumi provider `aws` of a rehearsal: the same protocol, type tokens,
// property names and replace rules as pulumi-aws v6, with the emulated AWS account instead of AWS.
// It has no state.
package awsprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// Version is the version of pulumi-aws whose schema and behavior the provider follows.
const Version = "6.83.4"

// Cloud is the emulated AWS account, as the provider needs it.
type Cloud interface {
	Create(ctx context.Context, request api.ResourceRequest) (api.ResourceResponse, error)
	Read(ctx context.Context, request api.ResourceRequest) (api.ResourceResponse, error)
	Update(ctx context.Context, request api.ResourceRequest) (api.ResourceResponse, error)
	Delete(ctx context.Context, request api.ResourceRequest) error
	Invoke(ctx context.Context, request api.InvokeRequest) (json.RawMessage, error)
}

// provider holds what the functions share.
type provider struct {
	cloud Cloud
	kinds schema.Kinds

	mu          sync.Mutex
	defaultTags map[string]string
}

// New returns the provider for an account.
func New(cloud Cloud) (p.Provider, error) {
	kinds, err := account.Kinds()
	if err != nil {
		return p.Provider{}, fmt.Errorf("preparing the rehearsed aws provider: %w", err)
	}
	s := &provider{cloud: cloud, kinds: kinds}
	return p.Provider{
		GetSchema:   s.getSchema,
		CheckConfig: s.checkConfig,
		DiffConfig:  s.diffConfig,
		Configure:   s.configure,
		Invoke:      s.invoke,
		Check:       s.check,
		Diff:        s.diff,
		Create:      s.create,
		Read:        s.read,
		Update:      s.update,
		Delete:      s.delete,
		Cancel:      func(context.Context) error { return nil },
	}, nil
}

// getSchema returns name and version only: programs use pulumi-aws's own SDK.
func (s *provider) getSchema(context.Context, p.GetSchemaRequest) (p.GetSchemaResponse, error) {
	schema, err := json.Marshal(map[string]string{
		"name": "aws", "version": Version,
		"description": "The emulated AWS account of ray-train-efa. Nothing here reaches AWS.",
	})
	return p.GetSchemaResponse{Schema: string(schema)}, err
}

func (s *provider) invoke(ctx context.Context, request p.InvokeRequest) (p.InvokeResponse, error) {
	args, err := toJSON(request.Args)
	if err != nil {
		return p.InvokeResponse{}, fmt.Errorf("calling %q: %w", request.Token, err)
	}
	answer, err := s.cloud.Invoke(ctx, api.InvokeRequest{Token: string(request.Token), Args: args})
	if err != nil {
		return p.InvokeResponse{}, fmt.Errorf("invoking %s (rehearsed AWS): %w", request.Token, err)
	}
	result, err := fromJSON(answer)
	return p.InvokeResponse{Return: result}, err
}

func (s *provider) create(ctx context.Context, request p.CreateRequest) (p.CreateResponse, error) {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return p.CreateResponse{}, err
	}
	if request.DryRun {
		return p.CreateResponse{Properties: previewCreate(kind, request.Properties)}, nil
	}
	inputs, err := toJSON(request.Properties)
	if err != nil {
		return p.CreateResponse{}, fmt.Errorf("creating %s: %w", request.Urn, err)
	}
	answer, err := s.cloud.Create(ctx,
		api.ResourceRequest{Type: kind.Token, URN: string(request.Urn), Inputs: inputs})
	if err != nil {
		return p.CreateResponse{}, fmt.Errorf("creating %s %q (rehearsed AWS): %w", kind.Token,
			request.Urn.Name(), err)
	}
	outputs, err := outputsOf(answer, request.Properties)
	response := p.CreateResponse{ID: answer.ID, Properties: outputs}
	if answer.Failed != nil {
		// The framework requires both: the state to keep and an error.
		response.PartialState = &p.InitializationFailed{Reasons: []string{answer.Failed.Message}}
		err = errors.Join(
			fmt.Errorf("creating %s %q (rehearsed AWS): %w", kind.Token, request.Urn.Name(),
				answer.Failed),
			err,
		)
	}
	return response, err
}

func (s *provider) read(ctx context.Context, request p.ReadRequest) (p.ReadResponse, error) {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return p.ReadResponse{}, err
	}
	answer, err := s.cloud.Read(ctx,
		api.ResourceRequest{Type: kind.Token, URN: string(request.Urn), ID: request.ID})
	if err != nil {
		return p.ReadResponse{}, fmt.Errorf("reading %s %q (rehearsed AWS): %w", kind.Token,
			request.ID, err)
	}
	if answer.ID == "" {
		return p.ReadResponse{}, nil
	}
	outputs, err := outputsOf(answer, request.Inputs)
	if err != nil {
		return p.ReadResponse{}, err
	}
	return p.ReadResponse{
		ID:         answer.ID,
		Properties: outputs,
		Inputs:     liveInputs(kind, request.Inputs, outputs),
	}, nil
}

func (s *provider) update(ctx context.Context, request p.UpdateRequest) (p.UpdateResponse, error) {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return p.UpdateResponse{}, err
	}
	if request.DryRun {
		return p.UpdateResponse{
			Properties: previewUpdate(kind, request.State, request.OldInputs, request.Inputs),
		}, nil
	}
	inputs, err := toJSON(request.Inputs)
	if err != nil {
		return p.UpdateResponse{}, fmt.Errorf("updating %s: %w", request.Urn, err)
	}
	answer, err := s.cloud.Update(
		ctx,
		api.ResourceRequest{
			Type:   kind.Token,
			URN:    string(request.Urn),
			ID:     request.ID,
			Inputs: inputs,
		},
	)
	if err != nil {
		return p.UpdateResponse{}, fmt.Errorf("updating %s %q (rehearsed AWS): %w", kind.Token,
			request.ID, err)
	}
	outputs, err := outputsOf(answer, request.Inputs)
	response := p.UpdateResponse{Properties: outputs}
	if answer.Failed != nil {
		// The framework requires both: the state to keep and an error.
		response.PartialState = &p.InitializationFailed{Reasons: []string{answer.Failed.Message}}
		err = errors.Join(
			fmt.Errorf("updating %s %q (rehearsed AWS): %w", kind.Token, request.ID, answer.Failed),
			err)
	}
	return response, err
}

func (s *provider) delete(ctx context.Context, request p.DeleteRequest) error {
	kind, err := s.kinds.Lookup(string(request.Urn.Type()))
	if err != nil {
		return err
	}
	err = s.cloud.Delete(ctx,
		api.ResourceRequest{Type: kind.Token, URN: string(request.Urn), ID: request.ID})
	if err != nil {
		return fmt.Errorf("deleting %s %q (rehearsed AWS): %w", kind.Token, request.ID, err)
	}
	return nil
}

// outputsOf decodes a response's properties; those whose inputs were secret stay secret.
func outputsOf(answer api.ResourceResponse, inputs property.Map) (property.Map, error) {
	if answer.ID == "" {
		// The resource was created and no longer exists.
		return property.Map{}, errors.Join(errGone, failure(answer))
	}
	outputs, err := fromJSON(answer.Outputs)
	if err != nil {
		return property.Map{}, err
	}
	for name, value := range inputs.All {
		if output, ok := outputs.GetOk(name); ok && value.HasSecrets() {
			outputs = outputs.Set(name, output.WithSecret(true))
		}
	}
	return outputs, nil
}

// errGone means that a resource disappeared during its creation.
var errGone = errors.New("the resource is gone")

func failure(answer api.ResourceResponse) error {
	if answer.Failed == nil {
		return nil
	}
	return answer.Failed
}
