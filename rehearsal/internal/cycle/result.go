package cycle

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
)

// The exit statuses of `raytrain rehearse`.
const (
	// ExitGreen: the update succeeded and the account is empty.
	ExitGreen = 0
	// ExitUsage: wrong usage, or the set-up failed.
	ExitUsage = 1
	// ExitRefused: the update was refused.
	ExitRefused = 2
	// ExitLeft: something that bills or blocks a name is left after destroy.
	ExitLeft = 3
)

// Result is what `raytrain rehearse --json` writes. Its form is a contract.
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
	AccountEmpty *bool     `json:"accountEmpty"`
	Findings     []Finding `json:"findings"`
}

// Seconds is how long each part of the cycle took, by the wall clock.
type Seconds struct {
	Setup   float64 `json:"setup"`
	Preview float64 `json:"preview"`
	Up      float64 `json:"up"`
	Destroy float64 `json:"destroy"`
}

// Finding is one finding of the gate, or the message of another refusal.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Rank     *int   `json:"rank"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
	Cause    string `json:"cause"`
	Next     string `json:"next"`
}

// writeJSON stores value as indented JSON in the file called name.
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

// remains describes what destroy left behind, a line each.
func remains(inventory account.Inventory) []string {
	var lines []string
	for _, item := range inventory.Remains() {
		line := fmt.Sprintf("%s %s", item.Type, item.ID)
		if item.Bills {
			line += fmt.Sprintf(", billing $%.4f/h", item.HourlyUSD)
		}
		if item.BlocksName {
			line += ", holds a name"
		}
		if item.Note != "" {
			line += ", " + item.Note
		}
		lines = append(lines, line)
	}
	return lines
}
