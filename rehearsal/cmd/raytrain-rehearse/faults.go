package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cycle"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// allFaults runs the faults that match the pattern: those without infrastructure of their own on
// one
// standing stack, then each of the others in its own cycle.
func (f *rehearseFlags) allFaults(command *cobra.Command) error {
	rows, err := faults.Match(f.all)
	if err != nil {
		return err
	}
	if f.fast {
		rows = slices.DeleteFunc(rows, func(row faults.Fault) bool { return !row.Fast })
	}
	shared := slices.DeleteFunc(
		slices.Clone(rows),
		func(row faults.Fault) bool { return !row.Shared() },
	)
	own := slices.DeleteFunc(rows, faults.Fault.Shared)
	failed, err := f.onOneStack(command, shared)
	if err != nil {
		return err
	}
	for i, row := range own {
		one := *f
		one.fault, one.dir, one.keep = row.Name, "", false
		started := time.Now()
		result, err := one.one(command)
		if err != nil {
			return fmt.Errorf("rehearsing fault %q: %w", row.Name, err)
		}
		problems := cycle.Mismatches(row, result)
		if result.AccountEmpty == nil || !*result.AccountEmpty {
			problems = append(problems, "the account is not empty after destroy")
		}
		if len(problems) > 0 {
			failed++
		}
		cycle.Print(command.OutOrStdout(), fmt.Sprintf("%d/%d", i+1, len(own)), row.Name, result,
			problems, time.Since(started))
	}
	return conclude(command.OutOrStdout(), len(shared)+len(own), failed)
}

// runSoak runs updates with random faults on one standing stack.
func (f *rehearseFlags) runSoak(command *cobra.Command) error {
	rows := cycle.Soak(f.soak, f.seed)
	fmt.Fprintf(command.OutOrStdout(), "%d updates, --seed %d\n", len(rows), f.seed)
	failed, err := f.onOneStack(command, rows)
	if err != nil {
		return fmt.Errorf("running --soak %d --seed %d: %w", f.soak, f.seed, err)
	}
	return conclude(command.OutOrStdout(), len(rows), failed)
}

// onOneStack runs faults on one standing stack and returns the number of those that failed.
func (f *rehearseFlags) onOneStack(command *cobra.Command, rows []faults.Fault) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	lab := *f
	temporary := lab.dir == ""
	removeDir, err := lab.workDir()
	if err != nil {
		return 0, err
	}
	options, err := lab.options(command.OutOrStdout())
	if err != nil {
		removeDir()
		return 0, err
	}
	failed, err := cycle.RunAll(command.Context(), options, rows)
	if temporary && err == nil && failed == 0 {
		removeDir()
	} else {
		fmt.Fprintf(command.ErrOrStderr(), "the logs are in %s\n", lab.dir)
	}
	return failed, err
}

// conclude prints the totals and returns an error if a fault failed.
func conclude(out io.Writer, total, failed int) error {
	fmt.Fprintf(out, "%d passed, %d failed\n", total-failed, failed)
	if failed > 0 {
		return &exit.Error{Code: cycle.ExitUsage}
	}
	return nil
}
