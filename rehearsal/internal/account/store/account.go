// Package store stores the resources of an emulated AWS account: one table per resource type,
// changed under one lock and stored on disk.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// Options configures an account.
type Options struct {
	// Dir holds account.json, the account's whole state.
	Dir string
	// Region is the account's only region.
	Region string
	// Speed divides AWS's own latencies: 600 turns ten minutes into one second.
	// 0 means no waiting at all.
	Speed float64
	// Runtime runs clusters and nodes. nil means that nothing runs, which is enough for
	// tests of the rules.
	Runtime api.Runtime
	// Log receives one line per change.
	Log *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Types are the resource types of the account.
	Types []AnyType
	// NetworkChanged is called after a change of the network rules between nodes.
	NetworkChanged func(ctx context.Context, a *Store)
}

// Store is the resources of an emulated AWS account. All methods are safe for
// concurrent use.
type Store struct {
	Options Options
	// busy keeps the runtime from being called twice at once for one cluster.
	busy keyedLocks

	mu    sync.Mutex
	state *state
}

// Open loads the account in Options.Dir, or creates an empty one there.
func Open(options Options) (*Store, error) {
	if err := os.MkdirAll(options.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	types := map[string]AnyType{}
	for _, one := range options.Types {
		types[one.token()] = one
	}
	stored, err := loadState(options.Dir, options.Region, types)
	if err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	return &Store{Options: options, state: stored}, nil
}

// Log returns the account's log.
func (a *Store) Log() *slog.Logger { return a.Options.Log }

// Runtime returns the runtime, or nil.
func (a *Store) Runtime() api.Runtime { return a.Options.Runtime }

// Change runs f under the lock and stores the result. If f fails, its writes are not undone; so f
// must check first and write last.
func (a *Store) Change(f func(o *Op) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := f(&Op{state: a.state, Now: a.Options.Now().UTC()}); err != nil {
		return err
	}
	return a.state.save(a.Options.Dir)
}

// Look runs f under the lock and stores nothing.
func (a *Store) Look(f func(o *Op)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&Op{state: a.state, Now: a.Options.Now().UTC()})
}

// Lock acquires the lock of a name until unlock is called.
func (a *Store) Lock(name string) (unlock func()) { return a.busy.lock(name) }

// Create creates a resource of a type.
func (a *Store) Create(
	ctx context.Context, token string, inputs json.RawMessage) (api.ResourceResponse, error) {
	found, err := a.typeOf(token)
	if err != nil {
		return api.ResourceResponse{}, err
	}
	return found.create(ctx, a, inputs)
}

// Read returns a resource; the id in the response is empty if there is none.
func (a *Store) Read(token, id string) (api.ResourceResponse, error) {
	found, err := a.typeOf(token)
	if err != nil {
		return api.ResourceResponse{}, err
	}
	return found.read(a, id)
}

// Update changes a resource in place.
func (a *Store) Update(
	ctx context.Context, token, id string, inputs json.RawMessage) (api.ResourceResponse, error) {
	found, err := a.typeOf(token)
	if err != nil {
		return api.ResourceResponse{}, err
	}
	return found.update(ctx, a, id, inputs)
}

// Delete deletes a resource. A missing resource is not an error.
func (a *Store) Delete(ctx context.Context, token, id string) error {
	found, err := a.typeOf(token)
	if err != nil {
		return err
	}
	return found.delete(ctx, a, id)
}

func (a *Store) typeOf(token string) (AnyType, error) {
	if found, ok := a.state.types[token]; ok {
		return found, nil
	}
	kinds, err := Kinds(a.Options.Types)
	if err != nil {
		return nil, err
	}
	_, err = kinds.Lookup(token)
	return nil, api.Errorf("InvalidAction", "%v", err)
}

// Items lists the existing resources, ordered by type and id.
func (a *Store) Items() []api.Item {
	items := []api.Item{}
	a.Look(func(o *Op) {
		for _, one := range o.types {
			items = append(items, one.items(o)...)
		}
	})
	slices.SortStableFunc(items, func(x, y api.Item) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.ID, y.ID))
	})
	return items
}

// Kinds describes the properties of resource types; internal ones are left out.
func Kinds(types []AnyType) (schema.Kinds, error) {
	kinds := schema.Kinds{}
	for _, one := range types {
		kind, ok, err := one.kind()
		if err != nil {
			return nil, err
		}
		if ok {
			kinds[kind.Token] = kind
		}
	}
	return kinds, nil
}

// wait sleeps for AWS's latency divided by the account's speed.
func (a *Store) wait(seconds float64) {
	if a.Options.Speed > 0 {
		time.Sleep(time.Duration(seconds / a.Options.Speed * float64(time.Second)))
	}
}

// retryInterval is the interval of retries of a delete that fails because of dependent objects.
const retryInterval = 50 * time.Millisecond

// minRetry is the minimum retry time of a delete, at any speed: ending a node's processes takes
// time.
const minRetry = 5 * time.Second

// retryUntil returns the deadline for retries of a delete. With speed 0 there are no retries.
func (a *Store) retryUntil(seconds float64) time.Time {
	if a.Options.Speed <= 0 || seconds == 0 {
		return time.Time{}
	}
	scaled := time.Duration(seconds / a.Options.Speed * float64(time.Second))
	return time.Now().Add(max(minRetry, scaled))
}

// keyedLocks is a set of locks by name.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

// lock acquires the lock of a name and returns a function that releases it.
func (k *keyedLocks) lock(name string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*sync.Mutex{}
	}
	one, ok := k.locks[name]
	if !ok {
		one = &sync.Mutex{}
		k.locks[name] = one
	}
	k.mu.Unlock()
	one.Lock()
	return one.Unlock
}
