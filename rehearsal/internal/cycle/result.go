package cycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// The exit statuses of `raytrain rehearse`.
const (
	// ExitGreen means that the update succeeded and the account is empty.
	ExitGreen = 0
	// ExitUsage means wrong usage, or that the set-up failed.
	ExitUsage = 1
	// ExitRefused means that the update was refused.
	ExitRefused = 2
	// ExitLeft means that destroy left resources that cost money or reserve a name.
	ExitLeft = 3
)

// Result is the output of `raytrain rehearse --json`. Its format is stable.
type Result struct {
	Rehearsed bool `json:"rehearsed"`
	// Fault is the fault's name, "" for a cycle without one.
	Fault string `json:"fault"`
	// Phase is where the update was refused, "" when it was not.
	Phase string `json:"phase"`
	// Verdict is the exported verdict; "none" when no job was judged.
	Verdict string  `json:"verdict"`
	Exit    int     `json:"exit"`
	Seconds Seconds `json:"seconds"`
	// Resources counts the resources of the finished stack.
	Resources int `json:"resources"`
	// HourlyUSD is the price of the running stack, null when unknown.
	HourlyUSD *float64 `json:"hourlyUsd"`
	// AccountEmpty is null when destroy was not run.
	AccountEmpty *bool `json:"accountEmpty"`
	// Findings are those of the gate, or the reasons of another refusal.
	Findings []report.Finding `json:"findings"`
}

// Seconds is how long each part of the cycle took, by the wall clock.
type Seconds struct {
	Setup   float64 `json:"setup"`
	Preview float64 `json:"preview"`
	Up      float64 `json:"up"`
	Destroy float64 `json:"destroy"`
}

// Files holds the paths of the output files; "" means none.
type Files struct {
	JSON, State, Timeline string
}

// Check reports, before minutes of work, which files cannot be written. It does not change their
// content. A file in dir itself passes: dir may not exist yet.
func (f Files) Check(dir string) error {
	var problems []error
	for _, file := range []struct{ flag, name string }{
		{"--json", f.JSON}, {"--state", f.State}, {"--timeline", f.Timeline},
	} {
		if file.name == "" || dir != "" && filepath.Dir(file.name) == filepath.Clean(dir) {
			continue
		}
		if err := writable(file.name); err != nil {
			problems = append(problems,
				fmt.Errorf("using %s %q: %w; next: use a writable path", file.flag, file.name,
					err))
		}
	}
	return errors.Join(problems...)
}

// writable opens a file for writing, and removes it if it did not exist.
func writable(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // a pipe or a device: opening it may block until there is a reader
	}
	file, openErr := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if openErr != nil {
		return openErr
	}
	if err = file.Close(); err == nil && info == nil {
		return os.Remove(name)
	}
	return err
}

// write writes the files.
func (f Files) write(result *Result, state []byte, updates []*engine.Update) error {
	var problems []error
	if f.JSON != "" {
		problems = append(problems, writeJSON(f.JSON, result))
	}
	if f.State != "" {
		problems = append(problems, os.WriteFile(f.State, state, 0o600))
	}
	if f.Timeline != "" {
		problems = append(problems, writeTimeline(f.Timeline, updates))
	}
	return errors.Join(problems...)
}

// writeJSON writes value as indented JSON.
func writeJSON(name string, value any) error {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %q: %w", name, err)
	}
	if err := os.WriteFile(name, append(body, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	return nil
}

func writeTimeline(name string, updates []*engine.Update) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("creating the timeline: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return engine.WriteTimeline(file, updates)
}
