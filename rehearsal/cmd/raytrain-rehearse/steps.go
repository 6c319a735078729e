package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cycle"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

// errNoDir means that a step has no --dir.
var errNoDir = errors.New("missing --dir DIR; " +
	"next: add the folder of the rehearsal, such as --dir /tmp/kept")

// errNotRunning means that the daemon of a kept rehearsal is not running.
var errNotRunning = errors.New("it is not running")

// step runs one operation on a kept rehearsal.
type step func(r *rehearsal.Rehearsal, ctx context.Context) (*rehearsal.Outcome, error)

func stepCommands(flags *rehearseFlags) []*cobra.Command {
	commands := []*cobra.Command{
		newStopCommand(flags), newEnvCommand(flags), newLoseClusterCommand(flags),
	}
	for _, s := range []struct {
		name, short string
		run         step
		fresh       bool
	}{
		{"up", "Create or update the stack of a kept rehearsal", (*rehearsal.Rehearsal).UpWithFault, true},
		{"preview", "Show what up would do in a kept rehearsal", (*rehearsal.Rehearsal).Preview,
			true},
		{"refresh", "Compare the state of a kept rehearsal with its account",
			(*rehearsal.Rehearsal).Refresh, false},
		{"destroy", "Destroy the stack of a kept rehearsal and list what is left",
			(*rehearsal.Rehearsal).Destroy, false},
	} {
		commands = append(commands, &cobra.Command{
			Use: s.name + " --dir DIR", Short: s.short,
			RunE: func(command *cobra.Command,
				_ []string) error {
				return flags.step(command, s.run, s.fresh)
			},
		})
	}
	return commands
}

// needDir makes --dir absolute. A step without one has no rehearsal to work on.
func (f *rehearseFlags) needDir(command *cobra.Command) error {
	if f.dir == "" {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(command.CommandPath(), "raytrain "),
			errNoDir)
	}
	_, err := f.workDir()
	return err
}

// step opens the rehearsal and runs one operation. A fresh one may create the rehearsal.
func (f *rehearseFlags) step(command *cobra.Command, run step, fresh bool) error {
	if err := f.needDir(command); err != nil {
		return err
	}
	if !fresh {
		if err := rehearsal.CheckDir(f.dir); err != nil {
			return err
		}
	}
	options, err := f.options(command.OutOrStdout())
	if err != nil {
		return err
	}
	r, err := rehearsal.Open(command.Context(), options)
	if err != nil {
		return err
	}
	_, err = run(r, command.Context())
	switch {
	case errors.Is(err, rehearsal.ErrLeft):
		return &exit.Error{Code: cycle.ExitLeft, Err: err}
	case errors.Is(err, rehearsal.ErrRefused):
		return &exit.Error{Code: cycle.ExitRefused, Err: err}
	}
	return err
}

// running connects to the daemon of a kept rehearsal.
func (f *rehearseFlags) running(command *cobra.Command) (*daemon.Client, error) {
	if err := f.needDir(command); err != nil {
		return nil, err
	}
	if err := rehearsal.CheckDir(f.dir); err != nil {
		return nil, err
	}
	client, ok, err := daemon.Connect(command.Context(), f.dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("connecting to the daemon of %q: %w; next: raytrain rehearse preview --dir %s",
			f.dir, errNotRunning, f.dir)
	}
	return client, nil
}

// stop stops the processes of a kept rehearsal. It is not an error if none is running.
func (f *rehearseFlags) stop(command *cobra.Command) error {
	client, err := f.running(command)
	switch {
	case errors.Is(err, errNotRunning):
		fmt.Fprintf(command.OutOrStdout(), "nothing to stop: the daemon of %s is not running\n", f.dir)
	case err != nil:
		return err
	default:
		if err := client.Stop(command.Context()); err != nil {
			return err
		}
		fmt.Fprintf(command.OutOrStdout(), "stopped; %s still has its state and logs\n", f.dir)
	}
	return engine.KillOrphans(f.dir)
}

func newStopCommand(flags *rehearseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "stop --dir DIR", Short: "Stop the processes of a kept rehearsal and keep its folder and state",
		RunE: func(command *cobra.Command, _ []string) error { return flags.stop(command) },
	}
}

func newLoseClusterCommand(flags *rehearseFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "lose-cluster --dir DIR NAME",
		Short: "Delete the cluster NAME without telling Pulumi, as if by hand",
		RunE: func(command *cobra.Command, args []string) error {
			client, err := flags.running(command)
			if err != nil {
				return err
			}
			return client.LoseCluster(command.Context(), args[0])
		},
	}
}
