package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cycle"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// errNoDir is the cause when a step was not told which rehearsal it is for.
var errNoDir = errors.New("--dir is missing: name the folder of the rehearsal, such as --dir /tmp/kept")

// errNotRunning is the cause when a kept rehearsal's processes were ended.
var errNotRunning = errors.New("it does not run")

// step runs one operation on a kept rehearsal.
type step func(r *cycle.Rehearsal, ctx context.Context) (*engine.Update, error)

func stepCommands(flags *rehearseFlags) []*cobra.Command {
	commands := []*cobra.Command{
		newStopCommand(flags), newEnvCommand(flags), newLoseClusterCommand(flags),
	}
	for _, s := range []struct {
		use, short string
		run        step
		fresh      bool
	}{
		{"up", "Bring the stack of a kept rehearsal up", (*cycle.Rehearsal).Up, true},
		{"preview", "Show what up would do in a kept rehearsal", (*cycle.Rehearsal).Preview, true},
		{"refresh", "Compare the state of a kept rehearsal with its account", (*cycle.Rehearsal).Refresh, false},
		{"destroy", "Take the stack of a kept rehearsal down and list what is left", (*cycle.Rehearsal).Destroy, false},
	} {
		commands = append(commands, &cobra.Command{
			Use: s.use + " --dir DIR", Short: s.short, Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error { return flags.step(command, s.run, s.fresh) },
		})
	}
	return commands
}

// step opens the rehearsal and runs one operation; fresh ones may make it.
func (f *rehearseFlags) step(command *cobra.Command, run step, fresh bool) error {
	if f.dir == "" {
		return errNoDir
	}
	if _, err := f.workDir(); err != nil {
		return err
	}
	if !fresh {
		if err := cycle.CheckDir(f.dir); err != nil {
			return err
		}
	}
	options, err := f.options(command.OutOrStdout())
	if err != nil {
		return err
	}
	r, err := cycle.Open(command.Context(), options)
	if err != nil {
		return err
	}
	_, err = run(r, command.Context())
	switch {
	case errors.Is(err, cycle.ErrLeft):
		return &exit.Error{Code: cycle.ExitLeft, Err: err}
	case errors.Is(err, cycle.ErrRefused):
		return &exit.Error{Code: cycle.ExitRefused, Err: err}
	}
	return err
}

// running finds the daemon of a kept rehearsal.
func (f *rehearseFlags) running(command *cobra.Command) (*daemon.Client, error) {
	if f.dir == "" {
		return nil, errNoDir
	}
	if _, err := f.workDir(); err != nil {
		return nil, err
	}
	if err := cycle.CheckDir(f.dir); err != nil {
		return nil, err
	}
	client, ok, err := daemon.Connect(command.Context(), f.dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("finding the daemon of %q: %w: start it by `raytrain rehearse preview --dir %s`", f.dir, errNotRunning, f.dir)
	}
	return client, nil
}

// stop ends the daemon of a kept rehearsal; one that does not run is as wanted.
func (f *rehearseFlags) stop(command *cobra.Command) error {
	client, err := f.running(command)
	if errors.Is(err, errNotRunning) {
		fmt.Fprintf(command.OutOrStdout(), "nothing to stop: no process of %s runs\n", f.dir)
		return nil
	}
	if err != nil {
		return err
	}
	if err := client.Stop(command.Context()); err != nil {
		return err
	}
	fmt.Fprintf(command.OutOrStdout(), "stopped; %s stays, with its state and logs\n", f.dir)
	return nil
}

func newStopCommand(flags *rehearseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "stop --dir DIR", Short: "End the processes of a kept rehearsal; its folder and state stay", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.stop(command) },
	}
}

func newLoseClusterCommand(flags *rehearseFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "lose-cluster --dir DIR NAME",
		Short: "Delete a cluster behind the stack's back, as if by hand",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			client, err := flags.running(command)
			if err != nil {
				return err
			}
			return client.LoseCluster(command.Context(), args[0])
		},
	}
}
