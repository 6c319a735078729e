package cloudformation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// accepted lists the checks of cfn-lint that do not concern the converted resources.
func accepted() []string {
	return []string{
		"W3010", // zones are literal, because a state has the values of one stack
		"W3687", // pulumi-eks gives ports to rules for all protocols
	}
}

// Finding is a complaint of cfn-lint.
type Finding struct {
	Rule struct {
		// ID is the check, such as E3012.
		ID string `json:"Id"`
	} `json:"Rule"`
	Message  string `json:"Message"`
	Location struct {
		// Path is where in the template, from the word Resources on.
		Path []any `json:"Path"`
	} `json:"Location"`
}

// String returns the check, the place and the message in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s at %v: %s", f.Rule.ID, f.Location.Path, f.Message)
}

// Lint returns what cfn-lint reports about a template in a region, with the schemas of AWS that it
// brings. program is the path of cfn-lint, which `make setup` installs as bin/cfn-lint.
func Lint(ctx context.Context, program string, template Template, region string) ([]Finding, error) {
	dir, err := os.MkdirTemp("", "cfn-lint-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the template: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	text, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("writing the template: %w", err)
	}
	path := filepath.Join(dir, "template.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing the template: %w", err)
	}
	arguments := []string{"--template", path, "--regions", region, "--format", "json"}
	for _, check := range accepted() {
		arguments = append(arguments, "--ignore-checks", check)
	}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = dir // not the configuration file of a checkout
	out, err := command.Output()
	// An exit status above 0 says that there are findings, and is an error without them.
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || len(out) == 0) {
		return nil, fmt.Errorf("running %q: %w; next: go run ./tools/setup -only cfn-lint", program, err)
	}
	var findings []Finding
	if decodeErr := json.Unmarshal(out, &findings); decodeErr != nil {
		return nil, fmt.Errorf("reading the findings of %q: %w", program, errors.Join(decodeErr, err))
	}
	if err != nil && len(findings) == 0 {
		return nil, fmt.Errorf("running %q: it found nothing and failed: %w", program, err)
	}
	return findings, nil
}
