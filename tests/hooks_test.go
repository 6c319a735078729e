package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// RegisterErrorHook remembers what to call when a resource fails.
func (m *monitor) RegisterErrorHook(_ context.Context, in *pulumirpc.RegisterErrorHookRequest) (*emptypb.Empty, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks[in.GetName()] = in.GetCallback()
	return &emptypb.Empty{}, nil
}

// RegisterStackTransform keeps what to call for every resource.
func (m *monitor) RegisterStackTransform(_ context.Context, in *pulumirpc.Callback) (*emptypb.Empty, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.transforms = append(m.transforms, in)
	return &emptypb.Empty{}, nil
}

// transform returns the inputs that the stack's transforms make of a role's. Those of other resources
// only concern the children of remote components, of which there are none here.
func (m *monitor) transform(
	in *pulumirpc.RegisterResourceRequest, inputs resource.PropertyMap,
) (resource.PropertyMap, error) {
	if in.GetType() != role {
		return inputs, nil
	}
	m.mu.Lock()
	transforms := slices.Clone(m.transforms)
	m.mu.Unlock()
	properties := in.GetObject()
	for _, callback := range transforms {
		var answer pulumirpc.TransformResponse
		request := &pulumirpc.TransformRequest{
			Type: in.GetType(), Name: in.GetName(), Custom: in.GetCustom(), Parent: in.GetParent(),
			Properties: properties, Options: &pulumirpc.TransformResourceOptions{},
		}
		if err := callBack(callback, request, &answer); err != nil {
			return nil, err
		}
		if answer.GetProperties() != nil {
			properties = answer.GetProperties()
		}
	}
	changed, err := plugin.UnmarshalProperties(properties, keepAll())
	if err != nil {
		return nil, fmt.Errorf("reading the inputs after the transforms: %w", err)
	}
	return changed, nil
}

// errRefused is what a broken resource's provider says.
var errRefused = errors.New("refused by the provider")

// refuse fails a resource as the engine does: its error hooks first, then its registration.
func (m *monitor) refuse(made registration, reason string) error {
	for _, name := range made.onError {
		m.mu.Lock()
		callback := m.hooks[name]
		m.mu.Unlock()
		if err := callHook(callback, made, reason); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shutDown = true
	return fmt.Errorf("%w: %s", errRefused, reason)
}

func callHook(callback *pulumirpc.Callback, made registration, reason string) error {
	var answer pulumirpc.ErrorHookResponse
	err := callBack(callback, &pulumirpc.ErrorHookRequest{
		Urn: made.urn, Name: made.name, Type: made.typ, FailedOperation: "create", Errors: []string{reason},
	}, &answer)
	if err != nil {
		return err
	}
	if answer.GetError() != "" || answer.GetRetry() {
		return fmt.Errorf("%w: %v", errHook, &answer)
	}
	return nil
}

// callBack calls a function of the program.
func callBack(callback *pulumirpc.Callback, in, out proto.Message) (err error) {
	connection, err := grpc.NewClient(callback.GetTarget(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("calling back the program: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	request, err := proto.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding the request of a callback: %w", err)
	}
	response, err := pulumirpc.NewCallbacksClient(connection).Invoke(context.Background(),
		&pulumirpc.CallbackInvokeRequest{Token: callback.GetToken(), Request: request})
	if err != nil {
		return fmt.Errorf("calling the program: %w", err)
	}
	if err := proto.Unmarshal(response.GetResponse(), out); err != nil {
		return fmt.Errorf("decoding the answer of a callback: %w", err)
	}
	return nil
}

var errHook = errors.New("a hook must neither fail nor retry")
