// Package account models one AWS account in one region: the resources that the
// program and the eks component create, AWS's own rules about them, quotas and
// capacity, kept on disk. It speaks to the emulated Pulumi provider over HTTP.
//
// Each rule says beside it where it is written down. "wording ours" marks a message
// whose exact words are not AWS's; its code and its cause are.
package account

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// DefaultRegion is the region of an account that names none.
const DefaultRegion = "us-east-2"

// Options says where an account lives and how it behaves.
type Options struct {
	// Dir holds account.json, the account's whole state.
	Dir string
	// Region is the account's only region; "" means us-east-2.
	Region string
	// Speed divides AWS's own latencies: 600 turns ten minutes into one second.
	// 0 means no waiting at all.
	Speed float64
	// Runtime runs clusters and nodes. nil means that nothing runs, which is what
	// tests of the rules want.
	Runtime Runtime
	// Log receives one line per mutation; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Account is an emulated AWS account. All methods are safe for concurrent use.
type Account struct {
	options  Options
	log      *slog.Logger
	kinds    resource.Kinds
	handlers map[string]handler
	// busy keeps the runtime from being called twice at once for one cluster.
	busy keyedLocks

	mu    sync.Mutex
	state *state
}

// Open loads the account that Options.Dir holds, or starts an empty one there.
func Open(options Options) (*Account, error) {
	if options.Dir == "" {
		return nil, fmt.Errorf("opening the account: Dir is empty")
	}
	if options.Speed < 0 {
		return nil, fmt.Errorf("opening the account: Speed is %v; it must be 0 (no waiting) or more", options.Speed)
	}
	if options.Region == "" {
		options.Region = DefaultRegion
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(options.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	kinds, err := resource.All()
	if err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	stored, err := loadState(options.Dir, options.Region)
	if err != nil {
		return nil, fmt.Errorf("opening the account: %w", err)
	}
	a := &Account{options: options, log: options.Log, kinds: kinds, state: stored}
	a.handlers = handlers(kinds)
	return a, nil
}

// change runs one mutation under the lock and stores the result. When f fails, the
// state is as before only if f wrote nothing: rules check first and write last.
func (a *Account) change(f func(o *op) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := f(&op{state: a.state, now: a.options.Now().UTC()}); err != nil {
		return err
	}
	return a.state.save(a.options.Dir)
}

// look runs f under the lock without storing anything.
func (a *Account) look(f func(o *op)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&op{state: a.state, now: a.options.Now().UTC()})
}

// Faults returns the faults in force.
func (a *Account) Faults() Faults {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.Faults
}

// SetFaults replaces the faults in force. Those about security groups reach the nodes
// that run; the others matter to what is made from now on.
func (a *Account) SetFaults(f Faults) error {
	if err := f.check(); err != nil {
		return err
	}
	err := a.change(func(o *op) error {
		o.Faults = f
		return nil
	})
	if err != nil {
		return err
	}
	a.refreshFabric(context.Background())
	return nil
}

// keyedLocks is a set of locks by name.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

// lock takes the lock of a name and returns how to give it back.
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
