// Command raytrain-rehearse is the program behind `raytrain rehearse`: it runs the whole stack on
// an emulated AWS account. It is also the rehearsal's daemon, the first process of its containers,
// and the `aws` command on its PATH.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/usage"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awscli"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// newRootCommand is called raytrain because that is how people start the program.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{Use: "raytrain", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newRehearseCommand(), newDaemonCommand(), newProgramCommand())
	usage.Install(root)
	return root
}

func main() {
	// A rehearsal's containers start as copies of this program.
	podinit.MaybeRun()
	os.Exit(run())
}

// interruptible returns a context that ends with a signal to stop. A closed terminal sends SIGHUP:
// an update that it killed would leave resources that the state does not know.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

func run() int {
	ctx, stop := interruptible()
	defer stop()
	if filepath.Base(os.Args[0]) == "aws" {
		return awscli.Main(ctx, os.Args[1:])
	}
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
