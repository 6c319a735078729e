package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// op is one operation on the account's state, under its lock.
type op struct {
	*state
	now time.Time
}

// rules is what AWS does for one resource type. create, update and remove run under
// the account's lock and only look and write; the settle functions run without it and
// do what takes time.
type rules[T any] struct {
	kind resource.Kind
	// service and the verbs name the AWS APIs, for errors and latencies.
	service                            string
	createVerb, updateVerb, deleteVerb string
	rows                               func(*state) table[T]
	// create checks a new resource, completes it and returns its id.
	create func(o *op, in *T) (string, error)
	// update checks a change. in holds what old had and the inputs do not say.
	update func(o *op, id string, old, in *T) error
	// remove checks that the resource may go and takes away what goes with it.
	remove func(o *op, id string, gone *T) error
	// settleCreate finishes a create; an error leaves the resource there, failed.
	settleCreate func(ctx context.Context, a *Account, id string) error
	settleUpdate func(ctx context.Context, a *Account, id string, old T) error
	// settleRemove runs before the row goes; an error keeps the resource.
	settleRemove func(ctx context.Context, a *Account, id string) error
	// removed runs under the lock once the row is gone: what AWS does next.
	removed func(o *op, id string)
	// fabric is true when a change changes what nodes may send each other.
	fabric bool
	// retry is how many seconds pulumi-aws goes on trying to delete what still has
	// dependent objects: others may be on their way out.
	retry float64
	// keep is true when a removed resource stays in the account, as KMS keys do.
	keep bool
	// hide is true when a resource that is still in the account reads as gone.
	hide func(*T) bool
}

// handler is rules without the type of its resource.
type handler interface {
	doCreate(ctx context.Context, a *Account, inputs json.RawMessage) (api.ResourceAnswer, error)
	doRead(a *Account, id string) (api.ResourceAnswer, error)
	doUpdate(ctx context.Context, a *Account, id string, inputs json.RawMessage) (api.ResourceAnswer, error)
	doDelete(ctx context.Context, a *Account, id string) error
}

func (r rules[T]) doCreate(ctx context.Context, a *Account, inputs json.RawMessage) (api.ResourceAnswer, error) {
	in, err := decode[T](r.kind, inputs)
	if err != nil {
		return api.ResourceAnswer{}, err
	}
	var id string
	err = a.change(func(o *op) error {
		made, err := r.create(o, in)
		if err != nil {
			return r.named(r.createVerb, err)
		}
		id = made
		r.rows(o.state)[id] = in
		return nil
	})
	if err != nil {
		return api.ResourceAnswer{}, err
	}
	// AWS goes on with what it began even when the caller hangs up.
	ctx = context.WithoutCancel(ctx)
	a.wait(r.createVerb)
	var failed error
	if r.settleCreate != nil {
		failed = r.named(r.createVerb, r.settleCreate(ctx, a, id))
	}
	r.refresh(ctx, a)
	return r.answer(a, id, failed)
}

func (r rules[T]) doRead(a *Account, id string) (api.ResourceAnswer, error) {
	return r.answer(a, id, nil)
}

func (r rules[T]) doUpdate(ctx context.Context, a *Account, id string, inputs json.RawMessage) (api.ResourceAnswer, error) {
	in, err := decode[T](r.kind, inputs)
	if err != nil {
		return api.ResourceAnswer{}, err
	}
	var before T
	err = a.change(func(o *op) error {
		old, ok := r.rows(o.state)[id]
		if !ok || r.hidden(old) {
			return r.named(r.updateVerb, notFound(r.kind.Token, id))
		}
		before = *old
		resource.Carry(old, in)
		if r.update != nil {
			if err := r.update(o, id, old, in); err != nil {
				return r.named(r.updateVerb, err)
			}
		}
		r.rows(o.state)[id] = in
		return nil
	})
	if err != nil {
		return api.ResourceAnswer{}, err
	}
	ctx = context.WithoutCancel(ctx)
	a.wait(r.updateVerb)
	var failed error
	if r.settleUpdate != nil {
		failed = r.named(r.updateVerb, r.settleUpdate(ctx, a, id, before))
	}
	r.refresh(ctx, a)
	return r.answer(a, id, failed)
}

func (r rules[T]) doDelete(ctx context.Context, a *Account, id string) error {
	exists, err := r.tryDelete(a, id)
	for deadline := a.retryUntil(r.retry); isDependency(err) && time.Now().Before(deadline); {
		time.Sleep(retryEvery)
		exists, err = r.tryDelete(a, id)
	}
	if err != nil || !exists {
		return err
	}
	a.wait(r.deleteVerb)
	r.refresh(context.WithoutCancel(ctx), a)
	if r.settleRemove == nil {
		return nil
	}
	if err := r.settleRemove(context.WithoutCancel(ctx), a, id); err != nil {
		return r.named(r.deleteVerb, err)
	}
	return a.change(func(o *op) error {
		r.drop(o, id)
		return nil
	})
}

// tryDelete removes a resource, or marks it as going when that takes time.
func (r rules[T]) tryDelete(a *Account, id string) (exists bool, err error) {
	exists = true
	err = a.change(func(o *op) error {
		gone, ok := r.rows(o.state)[id]
		if !ok || r.hidden(gone) {
			exists = false
			return nil
		}
		if r.remove != nil {
			if err := r.remove(o, id, gone); err != nil {
				return r.named(r.deleteVerb, err)
			}
		}
		if r.settleRemove == nil && !r.keep {
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

func (r rules[T]) drop(o *op, id string) {
	delete(r.rows(o.state), id)
	if r.removed != nil {
		r.removed(o, id)
	}
}

// refresh brings the running nodes' facts up to date.
func (r rules[T]) refresh(ctx context.Context, a *Account) {
	if r.fabric {
		a.refreshFabric(ctx)
	}
}

func (r rules[T]) hidden(row *T) bool { return r.hide != nil && r.hide(row) }

// answer encodes a resource as it stands now. failed is what went wrong with it after
// it had come into being.
func (r rules[T]) answer(a *Account, id string, failed error) (api.ResourceAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	row, ok := r.rows(a.state)[id]
	if !ok || r.hidden(row) {
		return api.ResourceAnswer{}, failed
	}
	outputs, err := encode(r.kind, row)
	if err != nil {
		return api.ResourceAnswer{}, err
	}
	answer := api.ResourceAnswer{ID: id, Outputs: outputs}
	var awsError *api.Error
	switch {
	case failed == nil:
	case errors.As(failed, &awsError):
		answer.Failed = awsError
	default:
		answer.Failed = &api.Error{Operation: r.service + ": " + r.createVerb, Code: "InternalFailure", Message: failed.Error(), StatusCode: 500}
	}
	return answer, nil
}

// named puts the operation's name into an AWS error.
func (r rules[T]) named(verb string, err error) error {
	var awsError *api.Error
	if errors.As(err, &awsError) && awsError.Operation == "" {
		named := *awsError
		named.Operation = r.service + ": " + verb
		return &named
	}
	return err
}

// decode reads inputs strictly: a property that the struct lacks is an error, because
// a property that is dropped in silence would make the rehearsal pass for a wrong reason.
func decode[T any](kind resource.Kind, inputs json.RawMessage) (*T, error) {
	in := new(T)
	if len(inputs) == 0 {
		return in, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(inputs))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil {
		return nil, api.Errorf("ValidationError", "decoding the properties of %s: %v", kind.Token, err)
	}
	return in, nil
}

// encode writes a resource's properties without the account's own fields.
func encode[T any](kind resource.Kind, row *T) (json.RawMessage, error) {
	body, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", kind.Token, err)
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", kind.Token, err)
	}
	for _, field := range kind.Fields {
		if field.Hidden {
			delete(properties, field.Name)
		}
	}
	return json.Marshal(properties)
}

func notFound(token, id string) *api.Error {
	return api.Errorf("ResourceNotFoundException", "%s %q does not exist", token, id).WithStatus(404)
}
