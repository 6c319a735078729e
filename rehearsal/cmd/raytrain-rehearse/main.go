// Command raytrain-rehearse is what `raytrain rehearse` runs: the whole stack on
// an emulated AWS account. It is also the process behind a rehearsal, the first
// process of its containers, and what is called `aws` in it.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awscli"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// newRootCommand names the program as people start it.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{Use: "raytrain", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newRehearseCommand(), newDaemonCommand(), newProgramCommand())
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
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
