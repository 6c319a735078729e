package follow

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

const (
	// collectSoon is the pause between two copies of the evidence until it shows a verdict: NCCL's
	// lines come within seconds, and the sooner a run on TCP is stopped, the less it costs.
	collectSoon = 3 * time.Second
	// collectMost is the longest pause after that. A node can fail, and a communicator can be made,
	// at any time, so the pause doubles up to it.
	collectMost = 5 * time.Minute
	// collectShare bounds the load on the head: a pause takes at least this many times as long as a
	// copy.
	collectShare = 4
	// progressPause is the pause between two reads of the job's progress.
	progressPause = 10 * time.Second
	// collectTimeout bounds one copy.
	collectTimeout = 5 * time.Minute
)

// copier copies the evidence of a running job in the background, one pass at a time, and judges it.
type copier struct {
	ctx       context.Context //nolint:containedctx // it is the background work's
	cancel    context.CancelFunc
	now       func() time.Time
	collector *evidence.Collector
	watch     *evidence.Watch
	// demands looks for a request that the cluster can never meet.
	demands func(ctx context.Context) string
	pause   time.Duration
	// done is closed when the latest pass has ended; nil before the first.
	done chan struct{}

	mu sync.Mutex
	// due is when the evidence is copied next, refreshDue when the progress is read next.
	due, refreshDue time.Time
	seen            sight
}

// sight is what the passes have shown so far.
type sight struct {
	evidence.Glimpse
	// at is when the latest pass ended, moved when a pass last showed something new; zero before.
	at, moved time.Time
	// impossible is the request that the cluster can never meet; empty for none.
	impossible string
}

func newCopier(ctx context.Context, job Job, collector *evidence.Collector) *copier {
	ctx, cancel := context.WithCancel(ctx)
	return &copier{
		ctx: ctx, cancel: cancel, now: job.Clock.Now, collector: collector, watch: job.Watch, demands: job.demands,
		due: job.Clock.Now().Add(collectSoon), refreshDue: job.Clock.Now().Add(progressPause), pause: collectSoon,
	}
}

// poll starts a pass if one is due and none is running, and returns what the passes have shown.
func (c *copier) poll(now time.Time) sight {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, some := !now.Before(c.due), !now.Before(c.refreshDue)
	if !all && !some || !c.idle() {
		return c.seen
	}
	done := make(chan struct{})
	c.done = done
	go func() {
		defer close(done)
		c.pass(all)
	}()
	return c.seen
}

// pass copies and judges all files, or reads only the progress. Missing files are an error only at
// the end.
func (c *copier) pass(all bool) {
	ctx, cancel := context.WithTimeout(c.ctx, collectTimeout)
	defer cancel()
	began := c.now()
	glimpse := c.last().Glimpse
	var err error
	impossible := ""
	if all {
		impossible = c.demands(ctx)
		err = c.collector.Collect(ctx)
		if c.watch != nil {
			glimpse = c.watch.Look(c.collector.Files())
		}
	} else {
		err = c.collector.Refresh(ctx, evidence.ProgressFile)
		glimpse.Progress = evidence.FindProgress(c.collector.Files())
	}
	ended := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.seen.at.IsZero(), glimpse.Bytes != c.seen.Bytes, glimpse.Step() != c.seen.Step():
		c.seen.at, c.seen.moved = ended, ended
	case err == nil: // otherwise it is unknown whether something moved
		c.seen.at = ended
	}
	c.seen.Glimpse, c.seen.impossible = glimpse, cmp.Or(impossible, c.seen.impossible)
	c.refreshDue = ended.Add(progressPause)
	if all {
		if c.watch == nil || glimpse.Verdict == report.EFA {
			c.pause = min(2*c.pause, collectMost)
		}
		c.due = ended.Add(max(c.pause, collectShare*ended.Sub(began)))
	}
}

func (c *copier) last() sight {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
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
