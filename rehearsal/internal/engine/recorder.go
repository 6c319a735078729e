package engine

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// recorder builds an Update from the engine's events. Its methods may be called from any goroutine.
type recorder struct {
	title string
	start time.Time

	mu                     sync.Mutex
	steps                  []*Step
	byKey                  map[string]*Step
	errors, warnings, info []string
	changes                map[apitype.OpType]int
}

func newRecorder(title string, start time.Time) *recorder {
	return &recorder{title: title, start: start, byKey: map[string]*Step{},
		changes: map[apitype.OpType]int{}}
}

// current returns a copy of the steps so far.
func (r *recorder) current() []Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps := make([]Step, len(r.steps))
	for i, step := range r.steps {
		steps[i] = *step
	}
	return steps
}

// finish returns the whole update.
func (r *recorder) finish(now time.Time, err error) *Update {
	update := &Update{
		Title: r.title, Start: r.start, End: now, Err: err, Steps: r.current(),
		Errors: r.errors, Warnings: r.warnings, Info: r.info, Changes: r.changes,
	}
	for i := range update.Steps {
		step := &update.Steps[i]
		if step.State != Running {
			continue
		}
		step.End, step.State = now, Done
		if err != nil {
			step.State = Unfinished
		}
	}
	if err != nil && len(update.Errors) == 0 {
		update.Errors = []string{err.Error()}
	}
	return update
}

func (r *recorder) apply(event apitype.EngineEvent, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case event.ResourcePreEvent != nil:
		r.begin(event.ResourcePreEvent.Metadata, now)
	case event.ResOutputsEvent != nil:
		r.end(event.ResOutputsEvent.Metadata, Done, now)
	case event.ResOpFailedEvent != nil:
		r.end(event.ResOpFailedEvent.Metadata, Failed, now)
	case event.DiagnosticEvent != nil:
		r.diagnose(*event.DiagnosticEvent)
	case event.SummaryEvent != nil:
		r.summarize(*event.SummaryEvent)
	}
}

func (r *recorder) begin(meta apitype.StepEventMetadata, now time.Time) {
	// These operations do not change the resource.
	switch meta.Op {
	case apitype.OpSame, apitype.OpRead, apitype.OpReadDiscard, apitype.OpDiscardReplaced:
		return
	}
	key := meta.URN + " " + string(meta.Op)
	if r.byKey[key] != nil {
		return
	}
	step := &Step{
		URN: meta.URN, Type: meta.Type, Name: nameOf(meta.URN), Parent: parentOf(meta),
		Op: meta.Op, State: Running, Start: now,
	}
	r.byKey[key] = step
	r.steps = append(r.steps, step)
}

func (r *recorder) end(meta apitype.StepEventMetadata, state StepState, now time.Time) {
	r.begin(meta, now)
	step := r.byKey[meta.URN+" "+string(meta.Op)]
	if step == nil || step.State == Failed {
		return
	}
	step.State, step.End = state, now
}

func (r *recorder) summarize(summary apitype.SummaryEvent) {
	for op, count := range summary.ResourceChanges {
		if op != apitype.OpSame && op != apitype.OpRead {
			r.changes[op] = count
		}
	}
}

// pluginNoise matches the engine's warning for each plugin that it takes from the PATH, as a
// rehearsal intends.
var pluginNoise = regexp.MustCompile(`(?i)using pulumi-(resource|language)-\S+ from \$PATH|` +
	`resource plugin .* is expected to have version|Installed and bundled plugin`)

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*m|<\{%[a-z0-9 ]*%\}>`)

func (r *recorder) diagnose(diag apitype.DiagnosticEvent) {
	if diag.Ephemeral {
		return
	}
	text := strings.TrimRight(escapes.ReplaceAllString(diag.Message, ""), "\n ")
	// The heading and the bullet of a list with one item.
	text = strings.TrimPrefix(text, "1 error occurred:\n\t* ")
	if text == "" || pluginNoise.MatchString(text) {
		return
	}
	switch diag.Severity {
	case "error":
		if text != "update failed" { // the engine repeats that there was an error
			r.errors = append(r.errors, text)
		}
	case "warning":
		// Several resources may print the same warning.
		if !slices.Contains(r.warnings, text) {
			r.warnings = append(r.warnings, text)
		}
	case "info", "info#err":
		r.info = append(r.info, text)
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
