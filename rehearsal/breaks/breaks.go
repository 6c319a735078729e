// Package breaks tests that a program with wrongly declared resources fails: in its tests, and in a
// rehearsal at the same point as on AWS. A break changes the inputs of declared resources, not the
// program's source. A fault (package faults) changes the environment of a correct program.
package breaks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/mistake"
)

// Break is one mistake in the declared resources.
type Break struct {
	Name string
	// Changes are the changes of the declared resources.
	Changes []mistake.Change
	// Phase is the phase in which the update must be refused.
	Phase string
	// Says holds strings that the output must contain, such as the cause and the next command.
	Says []string
	// FailingTests lists the tests of package tests that must fail, joined by "|".
	FailingTests string
}

// Result is the part of a rehearsal's result by which a break is judged.
type Result struct {
	Phase   string `json:"phase"`
	Verdict string `json:"verdict"`
	Exit    int    `json:"exit"`
	Seconds struct {
		Preview float64 `json:"preview"`
		Up      float64 `json:"up"`
	} `json:"seconds"`
	// AccountEmpty is nil if destroy was not run.
	AccountEmpty *bool `json:"accountEmpty"`
}

// Find returns the break with a name.
func Find(name string) (Break, error) {
	var names []string
	for _, b := range Table() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, fmt.Sprintf("%q", b.Name))
	}
	return Break{}, fmt.Errorf("%q is not a break; known are %s", name, strings.Join(names, ", "))
}

// Rehearse runs a whole rehearsal of the broken program with the checkout's binaries. root is the
// checkout, scratch an empty folder.
func (b Break) Rehearse(ctx context.Context,
	root, scratch string) (result Result, output string, err error) {
	file := filepath.Join(scratch, "result.json")
	//nolint:gosec // the program was built from this repository
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "raytrain-rehearse"),
		"rehearse", "--root", root, "--json", file, "--break", b.Name)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result, string(out), fmt.Errorf("rehearsing break %q: %w", b.Name, err)
	}
	body, err := os.ReadFile(file) //nolint:gosec // written by the program above
	if err != nil {
		return result, string(
			out), fmt.Errorf("reading the result of break %q: %w:\n%s", b.Name, err, out)
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return result, string(out), fmt.Errorf("reading the result of break %q: %w", b.Name, err)
	}
	return result, string(out), nil
}

// TestsFail reports whether all of FailingTests fail with the changes.
func (b Break) TestsFail(ctx context.Context, root string) (failed bool, output string, err error) {
	changes, err := json.Marshal(b.Changes)
	if err != nil {
		return false, "", fmt.Errorf("encoding the changes of break %q: %w", b.Name, err)
	}
	command := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^("+b.FailingTests+")$",
		"./tests")
	command.Dir = root
	command.Env = append(os.Environ(), mistake.EnvVar+"="+string(changes))
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, string(out), fmt.Errorf("testing break %q: %w", b.Name, err)
	}
	for _, name := range strings.Split(b.FailingTests, "|") {
		if !strings.Contains(string(out), "--- FAIL: "+name) {
			return false, string(out), nil
		}
	}
	return true, string(out), nil
}
