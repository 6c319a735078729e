// Package disturb disturbs the connection between the gate and Ray's dashboard, as a rehearsal's
// faults require. A node agent passes each forwarded connection to the dashboard through it.
package disturb

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Phase is a moment in the life of a job, as the requests to the dashboard show it.
type Phase string

// The phases, in order.
const (
	// Contacted is the first request of an update.
	Contacted Phase = "contacted"
	// Submitting is a request to submit a job that has not reached the dashboard yet.
	Submitting Phase = "submitting"
	// Submitted is a submission whose reply has not reached the gate yet.
	Submitted Phase = "submitted"
	// Running is a reply that says that the job runs.
	Running Phase = "running"
	// Ended is a reply that says that the job has ended.
	Ended Phase = "ended"
	// Collecting is the first request for a log file after that.
	Collecting Phase = "collecting"
)

// phases are all phases in order. A phase counts only when the one before was reached: replies
// about
// earlier jobs do not.
func phases() []Phase {
	return []Phase{Contacted, Submitting, Submitted, Running, Ended, Collecting}
}

// Requests are the requests that a plan disturbs.
type Requests string

// The kinds of requests.
const (
	All Requests = ""
	// Submissions are requests that submit a job.
	Submissions Requests = "submissions"
	// Jobs are requests about one job.
	Jobs Requests = "jobs"
	// Packages are requests about packages with a job's code.
	Packages Requests = "packages"
	// Logs are downloads of log files.
	Logs Requests = "logs"
)

// Effect is what happens to a disturbed request.
type Effect string

// The effects.
const (
	None Effect = ""
	// ServerError and Unauthorized are replies 500 and 401. TooLarge is the reply 413 to an upload; the
	// package does not exist yet.
	ServerError  Effect = "server-error"
	Unauthorized Effect = "unauthorized"
	TooLarge     Effect = "too-large"
	// Hang keeps the connection open without a reply.
	Hang Effect = "hang"
	// Cut closes all connections every CutInterval.
	Cut Effect = "cut"
	// Break closes the connection in the middle of the reply.
	Break Effect = "break"
	// Shorten delivers the first half of the reply as a whole one.
	Shorten Effect = "shorten"
	// LoseReply processes the request and closes the connection without a reply.
	LoseReply Effect = "lose-reply"
	// LosePackage makes a submission refer to a package that does not exist.
	LosePackage Effect = "lose-package"
	// Starve makes a submission require a resource that no node has: the job waits for ever.
	Starve Effect = "starve"
)

// CutInterval is the time between two cuts of all connections.
const CutInterval = 2 * time.Second

// Plan is what to disturb. The zero value disturbs nothing.
type Plan struct {
	Effect   Effect   `json:"effect,omitempty"`
	Requests Requests `json:"requests,omitempty"`
	// From is the phase from which on requests are disturbed; "" means at once.
	From Phase `json:"from,omitempty"`
	// Seconds is how long they are disturbed, counted from the first one; 0 means for ever.
	Seconds float64 `json:"seconds,omitempty"`
	// Hold is the phase whose first request waits until Release; "" holds none.
	Hold Phase `json:"hold,omitempty"`
}

// Disturber applies one plan at a time. Its methods may be called concurrently.
type Disturber struct {
	mu   sync.Mutex
	plan Plan
	// changed is closed when the plan is replaced.
	changed chan struct{}
	// reached counts the phases that were reached under the plan.
	reached int
	// began is when the first request was disturbed.
	began time.Time
	// held is closed when the request of plan.Hold waits, released when it may go on.
	held, released chan struct{}
}

// New returns a Disturber without a plan.
func New() *Disturber {
	d := &Disturber{}
	d.reset(Plan{})
	return d
}

func (d *Disturber) reset(plan Plan) {
	d.plan, d.reached, d.began = plan, 0, time.Time{}
	d.changed, d.held, d.released = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

// Set replaces the plan. Requests that hang or are held under the old one go on.
func (d *Disturber) Set(plan Plan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.reset(plan)
}

// Held waits until a request is held.
func (d *Disturber) Held(ctx context.Context) error {
	d.mu.Lock()
	held := d.held
	d.mu.Unlock()
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release lets the held request go on. Later requests are not held.
func (d *Disturber) Release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plan.Hold != "" {
		d.plan.Hold = ""
		close(d.released)
	}
}

// reach records that a request belongs to a phase, and waits if the plan holds it there.
func (d *Disturber) reach(ctx context.Context, phase Phase) {
	d.mu.Lock()
	order := phases()
	if d.reached < len(order) && order[d.reached] == phase {
		d.reached++
	}
	passed := slices.Index(order, phase) < d.reached
	hold := passed && d.plan.Hold == phase
	changed, released := d.changed, d.released
	if hold {
		select {
		case <-d.held:
		default:
			close(d.held)
		}
	}
	d.mu.Unlock()
	if !hold {
		return
	}
	select {
	case <-released:
	case <-changed:
	case <-ctx.Done():
	}
}

// effect returns what happens to a request of a kind, and a channel that is closed when the plan
// changes.
func (d *Disturber) effect(kind Requests, now time.Time) (Effect, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	begun := slices.Index(phases(), d.plan.From) < d.reached
	if !begun || d.plan.Requests != All && d.plan.Requests != kind {
		return None, d.changed
	}
	if d.began.IsZero() {
		d.began = now
	}
	if d.plan.Seconds > 0 && now.Sub(d.began).Seconds() >= d.plan.Seconds {
		return None, d.changed
	}
	return d.plan.Effect, d.changed
}

// idle reports whether there is no plan.
func (d *Disturber) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plan == Plan{}
}
