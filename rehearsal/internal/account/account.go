// Package account emulates one AWS account in one region: the resources that the program and the
// eks component create, AWS's own rules about them, quotas and capacity, stored on disk. The
// rehearsal's aws provider calls it over HTTP.
package account

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/s3"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/scheduler"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of the account.
func Types() []store.AnyType {
	return slices.Concat(ec2.Types(), eks.Types(), iam.Types(), kms.Types(), logs.Types(),
		s3.Types(), scheduler.Types())
}

// Kinds describes the properties of the resource types.
func Kinds() (schema.Kinds, error) { return store.Kinds(Types()) }

// functions holds the provider functions by token.
func functions() map[string]store.Function {
	all := map[string]store.Function{}
	for _, some := range []map[string]store.Function{ec2.Functions(), eks.Functions(), iam.Functions()} {
		maps.Copy(all, some)
	}
	return all
}

// Options configures an account.
type Options struct {
	// Dir holds account.json, the account's whole state.
	Dir string
	// Region is the account's only region; "" means us-east-2.
	Region string
	// Speed divides AWS's own latencies: 600 turns ten minutes into one second.
	// 0 means no waiting at all.
	Speed float64
	// Runtime runs clusters and nodes. If it is nil, nothing runs, which is enough for tests of the
	// rules.
	Runtime api.Runtime
	// Log receives one line per change; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Account is an emulated AWS account. All methods are safe for concurrent use.
type Account struct {
	store *store.Store
	log   *slog.Logger
}

// Open loads the account in Options.Dir, or creates an empty one there.
func Open(options Options) (*Account, error) {
	if options.Dir == "" {
		return nil, fmt.Errorf("opening the account: Dir is empty")
	}
	if options.Speed < 0 {
		return nil, fmt.Errorf(
			"opening the account: Speed is %v; it must be 0 (no waiting) or more", options.Speed)
	}
	if options.Region == "" {
		options.Region = "us-east-2"
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	opened, err := store.Open(store.Options{
		Dir: options.Dir, Region: options.Region, Speed: options.Speed,
		Runtime: options.Runtime, Log: options.Log, Now: options.Now,
		Types: Types(), NetworkChanged: eks.RefreshNodes,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	return &Account{store: opened, log: options.Log}, nil
}

// Resume passes every cluster, add-on and node of the stored state on to the runtime, and completes
// creations and deletions that were in progress when the account stopped. Call it once after Open.
func (a *Account) Resume(ctx context.Context) error { return eks.Resume(ctx, a.store) }

// Inventory lists the existing resources.
func (a *Account) Inventory() api.Inventory {
	return api.Inventory{Rehearsed: true, Items: a.store.Items()}
}

// Faults returns the current faults.
func (a *Account) Faults() api.Faults {
	var faults api.Faults
	a.store.Look(func(o *store.Op) { faults = o.Faults })
	return faults
}

// SetFaults replaces the current faults. Faults of security groups also apply to running nodes; the
// others only to new resources.
func (a *Account) SetFaults(ctx context.Context, faults api.Faults) error {
	if err := ec2.CheckFaults(faults); err != nil {
		return err
	}
	err := a.store.Change(func(o *store.Op) error {
		o.Faults = faults
		return nil
	})
	if err != nil {
		return err
	}
	eks.RefreshNodes(ctx, a.store)
	return nil
}

// Invoke calls a provider function.
func (a *Account) Invoke(token string, args json.RawMessage) (json.RawMessage, error) {
	all := functions()
	f, ok := all[token]
	if !ok {
		return nil, api.Errorf("InvalidAction",
			"function %q is not part of the emulated AWS account; it has: %s",
			token, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	var result any
	var err error
	a.store.Look(func(o *store.Op) { result, err = f(o, args) })
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer of %q: %w", token, err)
	}
	return body, nil
}

// operate performs a request.
func (a *Account) operate(r *http.Request, in api.ResourceRequest) (api.ResourceResponse, error) {
	switch r.URL.Path {
	case api.PathCreate:
		return a.store.Create(r.Context(), in.Type, in.Inputs)
	case api.PathUpdate:
		return a.store.Update(r.Context(), in.Type, in.ID, in.Inputs)
	case api.PathDelete:
		return api.ResourceResponse{}, a.store.Delete(r.Context(), in.Type, in.ID)
	default:
		return a.store.Read(in.Type, in.ID)
	}
}
