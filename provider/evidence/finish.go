package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// retryTimeout is how long the last collection retries. A busy log agent returns 500 for a short
	// time, which must not fail the run.
	retryTimeout = 30 * time.Second
	// retryPause is the time between two retries.
	retryPause = 3 * time.Second
)

// ErrStale means that files could be copied while the job ran, but not after it ended. Such a copy
// was cut off at an arbitrary moment: what it shows happened; what came after is unknown.
var ErrStale = errors.New("not copied again after the job ended")

// Clock returns the time and waits; tests replace it.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Finish collects all files again after the job has ended. It retries for about half a minute.
// Files that still cannot be read are in the error, which makes the run inconclusive.
func (c *Collector) Finish(ctx context.Context, clock Clock) error {
	deadline := clock.Now().Add(retryTimeout)
	fresh := map[fileKey]bool{}
	for {
		failures := append(c.pass(ctx, fresh), c.stale(fresh)...)
		if len(failures) == 0 || slices.ContainsFunc(failures, permanent) ||
			!clock.Now().Before(deadline) {
			return c.gaps(failures)
		}
		if err := clock.Sleep(ctx, retryPause); err != nil {
			return c.gaps(append(failures, err))
		}
	}
}

// permanent reports whether an error is permanent.
func permanent(
	err error,
) bool {
	return errors.Is(err, ErrTooMuch) || errors.Is(err, ErrForeignName) || errors.Is(err, ErrNotStored)
}

// stale returns an error for each node with copies that are not in fresh, in order of node id.
func (c *Collector) stale(fresh map[fileKey]bool) []error {
	names := map[string][]string{}
	for key := range c.files {
		if !fresh[key] {
			names[key.node] = append(names[key.node], key.base)
		}
	}
	var failures []error
	for _, node := range slices.Sorted(maps.Keys(names)) {
		failures = append(failures, fmt.Errorf("%w: %d files of node %q, such as %q",
			ErrStale, len(names[node]), node, slices.Min(names[node])))
	}
	return failures
}
