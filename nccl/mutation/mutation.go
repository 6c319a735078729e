// Package mutation proves that every condition of the verdict is held by a
// test: it removes or inverts the conditions one by one in an overlay of the
// sources and expects the tests of package transport to fail.
package mutation

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/overlay"
)

// Mutant is one change of the sources of package transport that must turn a
// test red.
type Mutant struct {
	// Name says which condition is gone.
	Name string
	overlay.Edit
	// Core mutants are tried in every test run; the others by make mutation-verdict.
	Core bool
}

// errBroken reports a mutant that does not compile.
var errBroken = errors.New("mutant does not compile")

// Apply returns the mutated source of the file in dir, the folder of package
// transport.
func (m Mutant) Apply(dir string) (string, error) {
	sources, err := overlay.Sources(dir, m.Edit)
	return sources[m.File], m.explain(err)
}

// explain names the entry that an error is about.
func (m Mutant) explain(err error) error {
	if err != nil {
		return fmt.Errorf("mutating the judge; entry %q in nccl/mutation/mutants.go: %w", m.Name, err)
	}
	return nil
}

// Killed says whether the tests of package transport in dir fail for the
// mutant. scratch is an empty folder.
func (m Mutant) Killed(ctx context.Context, dir, scratch string) (bool, error) {
	list, err := overlay.Write(dir, scratch, m.Edit)
	if err != nil {
		return false, m.explain(err)
	}
	//nolint:gosec // the arguments are ours
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-overlay", list,
		"-run", "^(TestRecordedLogs|TestNothingEscapes.*|TestNoCut.*|TestConditions.*|TestSeedSweep)$", ".", "-sweep.runs=700")
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
