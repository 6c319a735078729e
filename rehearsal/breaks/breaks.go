// Package breaks proves that the program fails as AWS would when it is wired
// wrongly: it breaks the program's own source in one place, in an overlay of the
// checkout, and runs a whole rehearsal of the broken program.
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

	"github.com/ray-train-efa/ray-train-efa/internal/overlay"
)

// Break is one way to wire the program wrongly.
type Break struct {
	Name string
	// Edits bring it about.
	Edits []overlay.Edit
	// Phase is where the rehearsal must refuse.
	Phase string
	// Says are parts of the message, the cause and the next command among them.
	Says []string
	// Red are the tests of package tests that must fail, joined by "|".
	Red string
}

// Result is the part of a rehearsal's result, whose form is a contract, that a
// break is judged by.
type Result struct {
	Phase   string `json:"phase"`
	Verdict string `json:"verdict"`
	Exit    int    `json:"exit"`
	Seconds struct {
		Preview float64 `json:"preview"`
		Up      float64 `json:"up"`
	} `json:"seconds"`
	// AccountEmpty is nil when destroy was not run.
	AccountEmpty *bool `json:"accountEmpty"`
}

// Sources returns the broken files below root, by their path relative to it.
func (b Break) Sources(root string) (map[string]string, error) {
	sources, err := overlay.Sources(root, b.Edits...)
	return sources, b.explain(err)
}

// overlay writes the broken files into scratch and returns the list of them for
// Go's tools.
func (b Break) overlay(root, scratch string) (string, error) {
	list, err := overlay.Write(root, scratch, b.Edits...)
	return list, b.explain(err)
}

// explain names the entry that an error is about.
func (b Break) explain(err error) error {
	if err != nil {
		return fmt.Errorf("breaking the program; entry %q in rehearsal/breaks/table.go: %w", b.Name, err)
	}
	return nil
}

// Rehearse builds the broken program and runs a whole rehearsal of it. root is
// the checkout, scratch an empty folder.
func (b Break) Rehearse(ctx context.Context, root, scratch string) (result Result, output string, err error) {
	list, err := b.overlay(root, scratch)
	if err != nil {
		return result, "", err
	}
	// Beside the whole program: a rehearsed pod sees of this machine little more than the toolchain's folder.
	binary := filepath.Join(root, "bin", "raytrain-rehearse-broken")
	defer os.Remove(binary) //nolint:errcheck // it is written anew each time
	if out, err := goTool(ctx, root, "build", "-overlay", list, "-o", binary, "./rehearsal/cmd/raytrain-rehearse"); err != nil {
		return result, "", fmt.Errorf("building break %q: %w:\n%s", b.Name, err, out)
	}
	file := filepath.Join(scratch, "result.json")
	//nolint:gosec // the program was built from this repository
	command := exec.CommandContext(ctx, binary, "rehearse", "--root", root, "--json", file)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result, string(out), fmt.Errorf("rehearsing break %q: %w", b.Name, err)
	}
	body, err := os.ReadFile(file) //nolint:gosec // written by the program above
	if err != nil {
		return result, string(out), fmt.Errorf("reading the result of break %q: %w:\n%s", b.Name, err, out)
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return result, string(out), fmt.Errorf("reading the result of break %q: %w", b.Name, err)
	}
	return result, string(out), nil
}

// TurnsRed says whether each of the named tests of package tests fails.
func (b Break) TurnsRed(ctx context.Context, root, scratch string) (bool, string, error) {
	list, err := b.overlay(root, scratch)
	if err != nil {
		return false, "", err
	}
	out, err := goTool(ctx, root, "test", "-count=1", "-vet=off", "-overlay", list, "-run", "^("+b.Red+")$", "./tests")
	if err == nil {
		return false, out, nil
	}
	for _, name := range strings.Split(b.Red, "|") {
		if !strings.Contains(out, "--- FAIL: "+name) {
			return false, out, nil
		}
	}
	return true, out, nil
}

func goTool(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err
}
