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
	// patience is how long the last collection tries to close a gap. A log agent
	// that is busy answers 500 for a moment, and a run that cost minutes must not
	// be thrown away for it; at a cluster's price half a minute is a few cents.
	patience = 30 * time.Second
	// retryPause is the time between two tries: an agent that is busy should not
	// be kept so.
	retryPause = 3 * time.Second
)

// ErrStale marks files that could be copied while the job ran, but not when it
// was over. Such a copy was cut off at an arbitrary moment: what it shows
// happened, and what came after is unknown.
var ErrStale = errors.New("not copied again after the job ended")

// Clock tells and passes time; tests have one that does not wait.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Finish is the collection of a job that is over: every file anew. What cannot
// be had is tried again for about half a minute, and is then in the error, which
// makes the run inconclusive: no copy from while the job ran counts as whole.
func (c *Collector) Finish(ctx context.Context, clock Clock) error {
	deadline := clock.Now().Add(patience)
	fresh := map[fileKey]bool{}
	for {
		failures := append(c.pass(ctx, fresh), c.stale(fresh)...)
		if len(failures) == 0 || slices.ContainsFunc(failures, lasting) || !clock.Now().Before(deadline) {
			return c.gaps(failures)
		}
		if err := clock.Sleep(ctx, retryPause); err != nil {
			return c.gaps(append(failures, err))
		}
	}
}

// lasting tells gaps that no repetition closes.
func lasting(err error) bool { return errors.Is(err, ErrTooMuch) || errors.Is(err, ErrForeignName) }

// stale returns an error for each node with copies that are not in fresh, in
// order of the nodes' ids.
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
