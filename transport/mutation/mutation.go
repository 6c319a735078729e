// Package mutation proves that every condition of the verdict is held by a
// test: it removes or inverts the conditions one by one in an overlay of the
// sources and expects the tests of package transport to fail.
package mutation

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

// Mutant is one change of the sources that must turn a test red.
type Mutant struct {
	// Name says which condition is gone.
	Name string
	// File is a source file of package transport.
	File string
	// Search occurs in File exactly once and is replaced by Replace.
	Search, Replace string
	// Core mutants are tried in every test run; the others by make mutation-verdict.
	Core bool
}

// ErrOutOfStep reports a mutant whose search text is not in its file exactly
// once: the judge was changed and the list was not.
var ErrOutOfStep = errors.New("mutant is out of step with the sources")

// errBroken reports a mutant that does not compile.
var errBroken = errors.New("mutant does not compile")

// Apply returns the mutated source of the file in dir, the folder of package
// transport.
func (m Mutant) Apply(dir string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(dir, m.File)) //nolint:gosec // a source file of this repository
	if err != nil {
		return nil, fmt.Errorf("reading the source of mutant %q: %w", m.Name, err)
	}
	if n := strings.Count(string(source), m.Search); n != 1 {
		return nil, fmt.Errorf("%w: %q is %d times in %s; edit the entry %q in transport/mutation/mutants.go", ErrOutOfStep, m.Search, n, m.File, m.Name)
	}
	return []byte(strings.Replace(string(source), m.Search, m.Replace, 1)), nil
}

// Killed says whether the tests of package transport in dir fail for the
// mutant. scratch is an empty folder.
func (m Mutant) Killed(ctx context.Context, dir, scratch string) (bool, error) {
	source, err := m.Apply(dir)
	if err != nil {
		return false, err
	}
	original, err := filepath.Abs(filepath.Join(dir, m.File))
	if err != nil {
		return false, fmt.Errorf("finding the file of mutant %q: %w", m.Name, err)
	}
	mutated, overlay := filepath.Join(scratch, m.File), filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(mutated, source, 0o600); err != nil {
		return false, fmt.Errorf("writing mutant %q: %w", m.Name, err)
	}
	list, err := json.Marshal(struct{ Replace map[string]string }{map[string]string{original: mutated}})
	if err != nil {
		return false, fmt.Errorf("listing the overlay of mutant %q: %w", m.Name, err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return false, fmt.Errorf("writing the overlay of mutant %q: %w", m.Name, err)
	}
	//nolint:gosec // the arguments are ours
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-overlay", overlay,
		"-run", "^(TestRecordedLogs|TestConditions.*|TestSeedSweep)$", ".", "-sweep.runs=700")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return false, nil
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return false, fmt.Errorf("%w: %s:\n%s", errBroken, m.Name, text)
	case strings.Contains(text, "--- FAIL"), strings.Contains(text, "panic:"):
		return true, nil
	default:
		return false, fmt.Errorf("testing mutant %q: %w:\n%s", m.Name, err, text)
	}
}
