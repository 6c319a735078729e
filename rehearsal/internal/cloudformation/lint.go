package cloudformation

import (
	"bytes"
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

// acceptedByCheckov lists the checks of checkov that ask for something that is not wanted.
func acceptedByCheckov() []string {
	return []string{
		// CloudWatch encrypts every log group. The setting for a customer key is a choice of the user.
		"CKV_AWS_158",
	}
}

// Finding is a complaint of a judge.
type Finding struct {
	// Check identifies what was checked, such as E3012 or CKV_AWS_158.
	Check string
	// Where is the resource, or the place in it.
	Where string
	// Message says what is wrong.
	Message string
}

// String returns the check, the place and the message in one line.
func (f Finding) String() string { return fmt.Sprintf("%s at %s: %s", f.Check, f.Where, f.Message) }

// Lint returns what cfn-lint reports about a template in a region, with the schemas of AWS that it
// brings. program is the path of cfn-lint, which `make judges` installs.
func Lint(
	ctx context.Context, program string, template Template, region string,
) ([]Finding, error) {
	arguments := []string{"--regions", region, "--format", "json"}
	for _, check := range accepted() {
		arguments = append(arguments, "--ignore-checks", check)
	}
	var found []struct {
		Rule struct {
			ID string `json:"Id"`
		}
		Message  string
		Location struct{ Path []any }
	}
	if err := judge(ctx, template, &found, program, append(arguments, "--template")...); err != nil {
		return nil, err
	}
	findings := make([]Finding, len(found))
	for i, one := range found {
		findings[i] = Finding{
			Check: one.Rule.ID, Where: fmt.Sprint(one.Location.Path), Message: one.Message,
		}
	}
	return findings, nil
}

// Checkov returns what checkov, which knows good practice and not only schemas, reports about a
// template. program is its path; `make judges` installs it.
func Checkov(ctx context.Context, program string, template Template) ([]Finding, error) {
	// Without --skip-download it asks its vendor for descriptions of the checks.
	arguments := []string{"--framework", "cloudformation", "--output", "json", "--skip-download"}
	for _, check := range acceptedByCheckov() {
		arguments = append(arguments, "--skip-check", check)
	}
	var report struct {
		Summary struct{ Passed int }
		Results struct {
			Failed []struct {
				ID       string `json:"check_id"`
				Name     string `json:"check_name"`
				Resource string `json:"resource"`
			} `json:"failed_checks"`
		}
	}
	if err := judge(ctx, template, &report, program, append(arguments, "--file")...); err != nil {
		return nil, err
	}
	findings := make([]Finding, len(report.Results.Failed))
	for i, one := range report.Results.Failed {
		findings[i] = Finding{Check: one.ID, Where: one.Resource, Message: one.Name}
	}
	if report.Summary.Passed == 0 && len(findings) == 0 {
		return nil, fmt.Errorf("running %q: it checked nothing", program)
	}
	return findings, nil
}

// judge runs a program on the template, whose path is the last argument, and reads its report.
func judge(
	ctx context.Context, template Template, report any, program string, arguments ...string,
) error {
	dir, err := os.MkdirTemp("", "judge-")
	if err != nil {
		return fmt.Errorf("creating a folder for the template: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	text, err := json.MarshalIndent(template, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the template: %w", err)
	}
	path := filepath.Join(dir, "template.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("writing the template: %w", err)
	}
	command := exec.CommandContext(ctx, program, append(arguments, path)...)
	command.Dir = dir // not the configuration file of a checkout
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	// An exit status above 0 says that there are findings, and is an error without them.
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || len(out) == 0) {
		return fmt.Errorf("running %q: %w; next: make judges%s", program, err, "\n"+problem.String())
	}
	if decodeErr := json.Unmarshal(out, report); decodeErr != nil {
		return fmt.Errorf("reading the report of %q: %w", program, errors.Join(decodeErr, err))
	}
	if err != nil && bytes.Equal(bytes.TrimSpace(out), []byte("[]")) {
		return fmt.Errorf("running %q: it found nothing and failed: %w", program, err)
	}
	return nil
}
