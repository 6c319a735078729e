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
)

// Edit is one change of one source file.
type Edit struct {
	// File is relative to the checkout.
	File string
	// Search occurs in File exactly once and is replaced by Replace.
	Search, Replace string
}

// Break is one way to wire the program wrongly.
type Break struct {
	Name string
	// Edits bring it about.
	Edits []Edit
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

// ErrOutOfStep reports a break whose search text is not in its file exactly
// once: the program was changed and the list was not.
var ErrOutOfStep = errors.New("break is out of step with the sources")

// Sources returns the broken files below root, by their path relative to it.
func (b Break) Sources(root string) (map[string]string, error) {
	sources := map[string]string{}
	for _, edit := range b.Edits {
		text, edited := sources[edit.File]
		if !edited {
			read, err := os.ReadFile(filepath.Join(root, edit.File)) //nolint:gosec // a source file of this repository
			if err != nil {
				return nil, fmt.Errorf("reading the source of break %q: %w", b.Name, err)
			}
			text = string(read)
		}
		if n := strings.Count(text, edit.Search); n != 1 {
			return nil, fmt.Errorf("%w: %q is %d times in %s; edit the entry %q in tests/breaks/table.go",
				ErrOutOfStep, edit.Search, n, edit.File, b.Name)
		}
		sources[edit.File] = strings.Replace(text, edit.Search, edit.Replace, 1)
	}
	return sources, nil
}

// overlay writes the broken files into scratch and returns the file that makes
// Go's tools read them in place of the checkout's. The checkout stays untouched.
func (b Break) overlay(root, scratch string) (string, error) {
	sources, err := b.Sources(root)
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for file, text := range sources {
		broken := filepath.Join(scratch, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("writing break %q: %w", b.Name, err)
		}
		replaced[filepath.Join(root, file)] = broken
	}
	list, err := json.Marshal(struct{ Replace map[string]string }{replaced})
	if err != nil {
		return "", fmt.Errorf("listing the overlay of break %q: %w", b.Name, err)
	}
	name := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		return "", fmt.Errorf("writing the overlay of break %q: %w", b.Name, err)
	}
	return name, nil
}

// Rehearse builds the broken program and runs a whole rehearsal of it. root is
// the checkout, scratch an empty folder.
func (b Break) Rehearse(ctx context.Context, root, scratch string) (result Result, output string, err error) {
	overlay, err := b.overlay(root, scratch)
	if err != nil {
		return result, "", err
	}
	// Beside the whole program: a rehearsed pod sees of this machine little more than the toolchain's folder.
	binary := filepath.Join(root, "bin", "raytrain-rehearse-broken")
	defer os.Remove(binary) //nolint:errcheck // it is written anew each time
	if out, err := goTool(ctx, root, "build", "-overlay", overlay, "-o", binary, "./cmd/raytrain-rehearse"); err != nil {
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
	overlay, err := b.overlay(root, scratch)
	if err != nil {
		return false, "", err
	}
	out, err := goTool(ctx, root, "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^("+b.Red+")$", "./tests")
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
