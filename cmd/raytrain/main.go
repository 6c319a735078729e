// Command raytrain is the command-line side of ray-train-efa: it judges NCCL
// logs, pins images, and rehearses the whole stack on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/rehearsal/awscli"
	"github.com/ray-train-efa/ray-train-efa/internal/rehearsal/nodeagent/podinit"
)

// exitError carries an exit status of the commands' contracts up to main; its
// message, if any, is printed to standard error first.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "raytrain",
		Short:         "Prove that multi-node PyTorch on AWS rides EFA",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newVerdictCommand(), newImageCommand(), newRehearseCommand(), newDaemonCommand(), newProgramCommand())
	return root
}

func main() {
	// A rehearsal's containers start as copies of this program.
	podinit.MaybeRun()
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A rehearsal puts this program on the PATH as `aws`.
	if filepath.Base(os.Args[0]) == "aws" {
		return awscli.Main(ctx, os.Args[1:])
	}
	err := newRootCommand().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			fmt.Fprintln(os.Stderr, "raytrain:", exit.err)
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "raytrain:", err)
	return 1
}
