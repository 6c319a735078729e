// Package eventlog writes events of the program as JSON for other programs, because Pulumi passes
// only text.
//
// With RAYTRAIN_EVENTS=FILE in the environment, the program and its provider append one JSON object
// a line to FILE. CI jobs and the rehearsal read it.
package eventlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
)

// Variable names the environment variable that holds the file's path.
const Variable = "RAYTRAIN_EVENTS"

// Event is one thing that happened. Exactly one field is set.
type Event struct {
	// Refusal is why the update was refused.
	Refusal *refusal.Refusal `json:"refusal,omitempty"`
	// HourlyUSD is the price of the running stack per hour, in USD.
	HourlyUSD *float64 `json:"hourlyUsd,omitempty"`
}

// Log appends events to a file. The zero value drops them.
type Log struct{ path string }

// To returns a log that appends to the file called path.
func To(path string) Log { return Log{path: path} }

// FromEnvironment returns the log that the environment names, or one that drops events where it
// names none.
func FromEnvironment() Log { return To(os.Getenv(Variable)) }

// Append writes one event. Each is one write to a file opened for appending, so that several
// processes can share the file.
func (l Log) Append(event Event) error {
	if l.path == "" {
		return nil
	}
	line, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of %s: %w", Variable, err)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		file.Close()
		return fmt.Errorf("appending to the file of %s: %w", Variable, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("closing the file of %s: %w", Variable, err)
	}
	return nil
}

// Read returns the events in the file called path, in order. A file that does not exist has none.
func Read(path string) ([]Event, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the events: %w", err)
	}
	defer file.Close()
	var events []Event
	decoder := json.NewDecoder(bufio.NewReader(file))
	for decoder.More() {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			return nil, fmt.Errorf("decoding the events in %q: %w", path, err)
		}
		events = append(events, event)
	}
	return events, nil
}
