package follow

import (
	"context"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

// collectFirst is when evidence is first copied from a running job, and collectMost the longest
// time between two copies. The interval doubles. The files are written in the first minute, and a
// node can fail at any time. collectTimeout bounds one copy.
const (
	collectFirst, collectMost = 15 * time.Second, 5 * time.Minute
	collectTimeout            = 5 * time.Minute
)

// copier copies the evidence of a running job in the background, one pass at a time.
type copier struct {
	ctx       context.Context //nolint:containedctx // it is the background work's
	cancel    context.CancelFunc
	collector *evidence.Collector
	due       time.Time
	pause     time.Duration
	// done is closed when the latest pass has ended; nil before the first.
	done chan struct{}
}

func newCopier(ctx context.Context, collector *evidence.Collector, now time.Time) *copier {
	ctx, cancel := context.WithCancel(ctx)
	return &copier{ctx: ctx, cancel: cancel, collector: collector, due: now.Add(collectFirst), pause: collectFirst}
}

// poll starts a pass if one is due and none is running.
func (c *copier) poll(now time.Time) {
	if now.Before(c.due) || !c.idle() {
		return
	}
	c.pause = min(2*c.pause, collectMost)
	c.due = now.Add(c.pause)
	done := make(chan struct{})
	c.done = done
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(c.ctx, collectTimeout)
		defer cancel()
		// Missing files are an error only at the end.
		_ = c.collector.Collect(ctx) //nolint:errcheck // see above
	}()
}

func (c *copier) idle() bool {
	if c.done == nil {
		return true
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop cancels the running pass and waits for it, because the collector is not safe for concurrent
// use.
func (c *copier) stop() {
	c.cancel()
	if c.done != nil {
		<-c.done
	}
}
