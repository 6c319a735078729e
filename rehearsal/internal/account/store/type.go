package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// Token is the Pulumi type token of a resource type, such as aws:ec2/vpc:Vpc. It is
// also the key of the type's table.
type Token[T any] string

// String returns the token as a string.
func (t Token[T]) String() string { return string(t) }

// In returns the table of the type.
func (t Token[T]) In(o *Op) Table[T] {
	// Every registered type has a table: see state.load.
	rows, _ := o.tables[string(t)].(Table[T])
	return rows
}

// Type describes one AWS resource type: its properties (the fields of T) and what AWS
// does with it. Create, Update and Delete run under the account's lock and only check
// and write; the Finish functions run without it and do what takes time. All functions
// but Create may be nil.
type Type[T any] struct {
	Token Token[T]
	// Internal is true for resources that only AWS creates, such as instances of a node group.
	Internal bool
	// Service is AWS's name of the service, for errors.
	Service string
	// CreateAPI, UpdateAPI and DeleteAPI are AWS's names of the operations, such as CreateVpc.
	CreateAPI, UpdateAPI, DeleteAPI string
	// CreateSeconds, UpdateSeconds and DeleteSeconds are how long AWS takes until an
	// operation is complete: orders of magnitude, not measurements. The sources are the EKS
	// user guide and what the Terraform provider's waiters allow for.
	CreateSeconds, UpdateSeconds, DeleteSeconds float64

	// Create checks and completes a new resource and returns its id.
	Create func(o *Op, in *T) (id string, err error)
	// Update checks a change. in holds what old had and the inputs do not set.
	Update func(o *Op, id string, old, in *T) error
	// Delete checks that AWS deletes the resource.
	Delete func(o *Op, id string, gone *T) error
	// FinishCreate completes a create. After an error the resource exists in a failed state.
	FinishCreate func(ctx context.Context, a *Store, id string) error
	FinishUpdate func(ctx context.Context, a *Store, id string, old T) error
	// FinishDelete runs before the resource is dropped. An error keeps the resource.
	FinishDelete func(ctx context.Context, a *Store, id string) error
	// Deleted runs after the resource is dropped.
	Deleted func(o *Op, id string)

	// Parent is the type whose deletion also deletes this resource, and ParentID the parent's id;
	// "" means none.
	Parent   string
	ParentID func(row *T) string
	// Blocks returns the id of a resource that AWS does not delete while this one exists,
	// or "".
	Blocks func(row *T) string
	// Item describes the resource in the inventory; nil leaves it out.
	Item func(o *Op, row *T) api.Item
	// Background performs what the resource does by itself at any time.
	Background func(o *Op, id string, row *T)
	// AffectsNodes is true if a change can affect the network rules between nodes.
	AffectsNodes bool
	// RetrySeconds is how long pulumi-aws retries a delete that AWS refuses with
	// DependencyViolation: the dependent objects may be on their way out.
	RetrySeconds float64
	// Retained is true when a deleted resource stays in the account, as KMS keys do.
	Retained bool
	// Hidden reports whether a resource that is still in the account reads as deleted.
	Hidden func(row *T) bool
}

// AnyType is a Type without the Go type of its properties.
type AnyType interface {
	token() string
	service() string
	// kind describes the properties; ok is false for an internal type.
	kind() (kind schema.Kind, ok bool, err error)
	load(table json.RawMessage) (any, error)
	has(o *Op, id string) bool
	drop(o *Op, id string)
	dropChildren(o *Op, parent, id string)
	blocker(o *Op, id string) string
	background(o *Op)
	items(o *Op) []api.Item
	tagged(o *Op) ([]Tagged, error)
	create(ctx context.Context, a *Store, inputs json.RawMessage) (api.ResourceResponse, error)
	read(a *Store, id string) (api.ResourceResponse, error)
	update(ctx context.Context, a *Store, id string,
		inputs json.RawMessage) (api.ResourceResponse, error)
	delete(ctx context.Context, a *Store, id string) error
}

func (r Type[T]) token() string { return string(r.Token) }

func (r Type[T]) service() string { return r.Service }

func (r Type[T]) kind() (schema.Kind, bool, error) {
	if r.Internal {
		return schema.Kind{}, false, nil
	}
	kind, err := schema.Describe[T](string(r.Token))
	return kind, true, err
}

func (r Type[T]) create(
	ctx context.Context, a *Store, inputs json.RawMessage) (api.ResourceResponse, error) {
	in, err := r.decode(inputs)
	if err != nil {
		return api.ResourceResponse{}, err
	}
	var id string
	err = a.Change(func(o *Op) error {
		made, err := r.Create(o, in)
		if err != nil {
			return r.named(r.CreateAPI, err)
		}
		id = made
		r.Token.In(o)[id] = in
		return nil
	})
	if err != nil {
		return api.ResourceResponse{}, err
	}
	// AWS completes an operation even if the caller disconnects.
	ctx = context.WithoutCancel(ctx)
	a.wait(r.CreateSeconds)
	var failed error
	if r.FinishCreate != nil {
		failed = r.named(r.CreateAPI, r.FinishCreate(ctx, a, id))
	}
	r.refreshNodes(ctx, a)
	return r.answer(a, id, failed)
}

func (r Type[T]) read(a *Store, id string) (api.ResourceResponse, error) {
	return r.answer(a, id, nil)
}

func (r Type[T]) update(
	ctx context.Context, a *Store, id string, inputs json.RawMessage) (api.ResourceResponse, error) {
	in, err := r.decode(inputs)
	if err != nil {
		return api.ResourceResponse{}, err
	}
	var before T
	err = a.Change(func(o *Op) error {
		old, ok := r.visible(o, id)
		if !ok {
			missing := api.Errorf("ResourceNotFoundException", "%s %q does not exist", r.Token, id)
			return r.named(r.UpdateAPI, missing.WithStatus(404))
		}
		before = *old
		schema.Carry(old, in)
		if r.Update != nil {
			if err := r.Update(o, id, old, in); err != nil {
				return r.named(r.UpdateAPI, err)
			}
		}
		r.Token.In(o)[id] = in
		return nil
	})
	if err != nil {
		return api.ResourceResponse{}, err
	}
	ctx = context.WithoutCancel(ctx)
	a.wait(r.UpdateSeconds)
	var failed error
	if r.FinishUpdate != nil {
		failed = r.named(r.UpdateAPI, r.FinishUpdate(ctx, a, id, before))
	}
	r.refreshNodes(ctx, a)
	return r.answer(a, id, failed)
}

func (r Type[T]) delete(ctx context.Context, a *Store, id string) error {
	exists, err := r.tryDelete(a, id)
	for deadline := a.retryUntil(r.RetrySeconds); isDependency(err) && time.Now().Before(deadline); {
		time.Sleep(retryInterval)
		exists, err = r.tryDelete(a, id)
	}
	if err != nil || !exists {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	a.wait(r.DeleteSeconds)
	r.refreshNodes(ctx, a)
	if r.FinishDelete == nil {
		return nil
	}
	if err := r.FinishDelete(ctx, a, id); err != nil {
		return r.named(r.DeleteAPI, err)
	}
	return a.Change(func(o *Op) error {
		r.drop(o, id)
		return nil
	})
}

// tryDelete deletes a resource, or marks it as being deleted if that takes time.
func (r Type[T]) tryDelete(a *Store, id string) (exists bool, err error) {
	err = a.Change(func(o *Op) error {
		var gone *T
		gone, exists = r.visible(o, id)
		if !exists {
			return nil
		}
		if r.Delete != nil {
			if err := r.Delete(o, id, gone); err != nil {
				return r.named(r.DeleteAPI, err)
			}
		}
		if r.FinishDelete == nil && !r.Retained {
			r.drop(o, id)
		}
		return nil
	})
	return exists, err
}

func isDependency(err error) bool {
	var awsError *api.Error
	return errors.As(err, &awsError) && awsError.Code == "DependencyViolation"
}

// refreshNodes passes a change of the network on to the running nodes.
func (r Type[T]) refreshNodes(ctx context.Context, a *Store) {
	if r.AffectsNodes && a.Options.NetworkChanged != nil {
		a.Options.NetworkChanged(ctx, a)
	}
}

// visible returns a resource that a caller sees.
func (r Type[T]) visible(o *Op, id string) (*T, bool) {
	row, ok := r.Token.In(o)[id]
	if !ok || r.Hidden != nil && r.Hidden(row) {
		return nil, false
	}
	return row, true
}

// answer returns the response with the current state of a resource. failed is the error that
// occurred after its creation.
func (r Type[T]) answer(a *Store, id string, failed error) (api.ResourceResponse, error) {
	var answer api.ResourceResponse
	var err error
	visible := false
	a.Look(func(o *Op) {
		var row *T
		if row, visible = r.visible(o, id); visible {
			answer.ID = id
			answer.Outputs, err = r.encode(row)
		}
	})
	if !visible || err != nil {
		return api.ResourceResponse{}, errors.Join(failed, err)
	}
	var awsError *api.Error
	switch {
	case failed == nil:
	case errors.As(failed, &awsError):
		answer.Failed = awsError
	default:
		answer.Failed = &api.Error{
			Operation: r.Service + ": " + r.CreateAPI, Code: "InternalFailure",
			Message: failed.Error(), StatusCode: 500,
		}
	}
	return answer, nil
}

// named adds the operation's name to an AWS error.
func (r Type[T]) named(operation string, err error) error {
	var awsError *api.Error
	if errors.As(err, &awsError) && awsError.Operation == "" {
		named := *awsError
		named.Operation = r.Service + ": " + operation
		return &named
	}
	return err
}

// decode reads inputs strictly: otherwise a rehearsal could succeed although a property is wrong.
func (r Type[T]) decode(inputs json.RawMessage) (*T, error) {
	in := new(T)
	if len(inputs) == 0 {
		return in, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(inputs))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil {
		return nil, api.Errorf("ValidationError", "decoding the properties of %s: %v", r.Token, err)
	}
	return in, nil
}

// encode encodes a resource's properties without the account's own fields.
func (r Type[T]) encode(row *T) (json.RawMessage, error) {
	body, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", r.Token, err)
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", r.Token, err)
	}
	for name := range properties {
		if schema.IsHidden(name) {
			delete(properties, name)
		}
	}
	return json.Marshal(properties)
}
