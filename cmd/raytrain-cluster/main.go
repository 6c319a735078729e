// Command raytrain-cluster is the program behind the commands of raytrain that talk to a cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/usage"
)

// newRootCommand is called raytrain because that is how people start the program.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{Use: "raytrain", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newSubmitCommand(), newStatusCommand(), newBenchmarkCommand())
	usage.Install(root)
	return root
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
