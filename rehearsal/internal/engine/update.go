package engine

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// StepState is where one resource's step stands.
type StepState string

// The states of a step. A planned step belongs to a preview.
const (
	Running StepState = "running"
	Done    StepState = "done"
	Failed  StepState = "failed"
	// Unfinished is a step that the update's failure cut short, or that waited
	// for one that failed.
	Unfinished StepState = "unfinished"
)

// Step is one resource's part in an update.
type Step struct {
	URN, Type, Name, Parent string
	Op                      apitype.OpType
	State                   StepState
	Start, End              time.Time
	// Changed names the input properties that made the step necessary.
	Changed []string
}

// Update is what one run of the engine did, gathered from its events.
type Update struct {
	Title      string
	Start, End time.Time
	// Err is what the engine returned; nil when it succeeded.
	Err error

	mu       sync.Mutex
	steps    []*Step
	byURN    map[string]*Step
	errors   []string
	warnings []string
	info     []string
	changes  map[apitype.OpType]int
}

func newUpdate(title string, start time.Time) *Update {
	return &Update{Title: title, Start: start, byURN: map[string]*Step{}}
}

// Steps returns a copy of the steps in the order in which they started.
func (u *Update) Steps() []Step {
	u.mu.Lock()
	defer u.mu.Unlock()
	steps := make([]Step, len(u.steps))
	for i, step := range u.steps {
		steps[i] = *step
	}
	return steps
}

// Errors returns the error messages of the engine and its plugins, without
// colours, in order.
func (u *Update) Errors() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.errors...)
}

// Info returns what the program and its providers said for people.
func (u *Update) Info() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.info...)
}

// Changes counts the resources by operation; same and read are left out.
func (u *Update) Changes() map[apitype.OpType]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	changes := map[apitype.OpType]int{}
	for op, count := range u.changes {
		if op != apitype.OpSame && op != apitype.OpRead {
			changes[op] = count
		}
	}
	return changes
}

// Failed returns the step that failed first.
func (u *Update) Failed() (Step, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, step := range u.steps {
		if step.State == Failed {
			return *step, true
		}
	}
	return Step{}, false
}

// Resources counts the resources that the update touched or kept.
func (u *Update) Resources() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	total := 0
	for _, count := range u.changes {
		total += count
	}
	return total
}

// Seconds is how long the engine ran.
func (u *Update) Seconds() float64 { return u.End.Sub(u.Start).Seconds() }

func (u *Update) finish(now time.Time, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.End, u.Err = now, err
	for _, step := range u.steps {
		if step.State == Running {
			step.End = now
			if err != nil {
				step.State = Unfinished
			} else {
				step.State = Done
			}
		}
	}
}

func (u *Update) apply(event apitype.EngineEvent, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case event.ResourcePreEvent != nil:
		u.begin(event.ResourcePreEvent.Metadata, now)
	case event.ResOutputsEvent != nil:
		u.end(event.ResOutputsEvent.Metadata, Done, now)
	case event.ResOpFailedEvent != nil:
		u.end(event.ResOpFailedEvent.Metadata, Failed, now)
	case event.DiagnosticEvent != nil:
		u.diagnose(*event.DiagnosticEvent)
	case event.SummaryEvent != nil:
		u.changes = event.SummaryEvent.ResourceChanges
	}
}

// quiet operations are bookkeeping that no person asked for.
func quiet(op apitype.OpType) bool {
	switch op {
	case apitype.OpSame, apitype.OpRead, apitype.OpReadDiscard, apitype.OpDiscardReplaced:
		return true
	}
	return false
}

func (u *Update) begin(meta apitype.StepEventMetadata, now time.Time) {
	if quiet(meta.Op) {
		return
	}
	key := meta.URN + " " + string(meta.Op)
	if _, seen := u.byURN[key]; seen {
		return
	}
	step := &Step{
		URN: meta.URN, Type: meta.Type, Name: nameOf(meta.URN), Parent: parentOf(meta),
		Op: meta.Op, State: Running, Start: now, Changed: meta.Diffs,
	}
	u.byURN[key] = step
	u.steps = append(u.steps, step)
}

func (u *Update) end(meta apitype.StepEventMetadata, state StepState, now time.Time) {
	u.begin(meta, now)
	step := u.byURN[meta.URN+" "+string(meta.Op)]
	if step == nil || step.State == Failed {
		return
	}
	step.State, step.End = state, now
}

// pluginNoise is the engine's warning for each plugin that it takes from PATH,
// which is how every plugin of a rehearsal is meant to be found.
var pluginNoise = regexp.MustCompile(`(?i)using pulumi-(resource|language)-\S+ from \$PATH|resource plugin .* is expected to have version|Installed and bundled plugin`)

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*m|<\{%[a-z0-9 ]*%\}>`)

func (u *Update) diagnose(diag apitype.DiagnosticEvent) {
	if diag.Ephemeral {
		return
	}
	text := strings.TrimRight(escapes.ReplaceAllString(diag.Message, ""), "\n ")
	// The engine's list of one: a heading and a bullet that say nothing.
	text = strings.TrimPrefix(text, "1 error occurred:\n\t* ")
	if text == "" || pluginNoise.MatchString(text) {
		return
	}
	switch diag.Severity {
	case "error":
		if text == "update failed" { // the engine's echo of the error before it
			return
		}
		u.errors = append(u.errors, text)
	case "warning":
		u.warnings = append(u.warnings, text)
	case "info", "info#err":
		u.info = append(u.info, text)
	}
}

func nameOf(urn string) string {
	if i := strings.LastIndex(urn, "::"); i >= 0 {
		return urn[i+2:]
	}
	return urn
}

func parentOf(meta apitype.StepEventMetadata) string {
	for _, state := range []*apitype.StepEventStateMetadata{meta.New, meta.Old} {
		if state != nil && state.Parent != "" {
			return state.Parent
		}
	}
	return ""
}
