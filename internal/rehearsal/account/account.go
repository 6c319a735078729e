// Package account models one AWS account in one region: the resources that the
// program and the eks component create, AWS's own rules about them, quotas and
// capacity, kept on disk. It speaks to the emulated Pulumi provider over HTTP.
package account

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

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
	options Options
	mu      sync.Mutex
}

// Open loads the account that Options.Dir holds, or starts an empty one there.
func Open(options Options) (*Account, error) {
	if options.Dir == "" {
		return nil, fmt.Errorf("opening the account: Dir is empty")
	}
	return &Account{options: options}, nil
}

// Resume tells the runtime of every cluster, node and add-on that the stored state
// holds. Call it once after Open on a rehearsal that was kept.
func (a *Account) Resume(ctx context.Context) error { return nil }

// Handler serves the account: POST /aws/{create,read,update,delete,invoke} for the
// provider, GET /inventory, GET and POST /faults, POST /token for the `aws` stand-in,
// and POST /tokenreview/{cluster} as a Kubernetes token webhook.
func (a *Account) Handler() http.Handler { return http.NewServeMux() }

// Authenticate says who a token of `aws eks get-token` is, for the cluster that the
// token names, as EKS does: by access entries.
func (a *Account) Authenticate(token string) (username string, groups []string, err error) {
	return "", nil, fmt.Errorf("authenticating: no token has been issued yet")
}
