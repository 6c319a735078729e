package tests

import (
	"context"
	"errors"
	"fmt"

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

// RegisterStackTransform accepts transforms and calls none: they are for the children of remote
// components, of which there are none here.
func (m *monitor) RegisterStackTransform(context.Context, *pulumirpc.Callback) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
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

func callHook(callback *pulumirpc.Callback, made registration, reason string) (err error) {
	connection, err := grpc.NewClient(callback.GetTarget(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("calling back the program: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	request, err := proto.Marshal(&pulumirpc.ErrorHookRequest{
		Urn: made.urn, Name: made.name, Type: made.typ, FailedOperation: "create", Errors: []string{reason},
	})
	if err != nil {
		return fmt.Errorf("encoding a hook's request: %w", err)
	}
	response, err := pulumirpc.NewCallbacksClient(connection).Invoke(context.Background(),
		&pulumirpc.CallbackInvokeRequest{Token: callback.GetToken(), Request: request})
	if err != nil {
		return fmt.Errorf("calling a hook: %w", err)
	}
	var answer pulumirpc.ErrorHookResponse
	if err := proto.Unmarshal(response.GetResponse(), &answer); err != nil {
		return fmt.Errorf("decoding a hook's answer: %w", err)
	}
	if answer.GetError() != "" || answer.GetRetry() {
		return fmt.Errorf("%w: %v", errHook, &answer)
	}
	return nil
}

var errHook = errors.New("a hook must neither fail nor retry")
