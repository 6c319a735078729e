package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// traceEvent is a complete event ("X") of the Chrome trace-event format, which Perfetto and
// chrome://tracing show as a timeline.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	Phase    string         `json:"ph"`
	Micros   int64          `json:"ts"`
	Duration int64          `json:"dur"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     traceEventArgs `json:"args"`
}

type traceEventArgs struct {
	URN    string `json:"urn,omitempty"`
	Op     string `json:"op,omitempty"`
	State  string `json:"state,omitempty"`
	Parent string `json:"parent,omitempty"`
}

type trace struct {
	Events []traceEvent `json:"traceEvents"`
	Other  traceOther   `json:"otherData"`
}

type traceOther struct {
	Rehearsed bool `json:"rehearsed"`
}

// WriteTimeline writes the updates as one timeline: a process per update, a row per step, and times
// since the first update began.
func WriteTimeline(w io.Writer, updates []*Update) error {
	out := trace{Events: []traceEvent{}, Other: traceOther{Rehearsed: true}}
	if len(updates) > 0 {
		origin := updates[0].Start
		for process, update := range updates {
			out.Events = append(out.Events, updateEvents(process, update, origin)...)
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(out); err != nil {
		return fmt.Errorf("writing the timeline: %w", err)
	}
	return nil
}

func updateEvents(process int, update *Update, origin time.Time) []traceEvent {
	complete := func(name, category string, thread int, start, end time.Time) traceEvent {
		return traceEvent{
			Name: name, Category: category, Phase: "X", Process: process, Thread: thread,
			Micros: start.Sub(origin).Microseconds(), Duration: end.Sub(start).Microseconds(),
		}
	}
	events := []traceEvent{complete(update.Title, "update", 0, update.Start, update.End)}
	for row, step := range update.Steps {
		event := complete(step.Name, shortType(step.Type), row+1, step.Start, step.End)
		event.Args = traceEventArgs{URN: step.URN, Op: string(step.Op), State: string(step.State),
			Parent: step.Parent}
		events = append(events, event)
	}
	return events
}
