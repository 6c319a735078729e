// Command raytrain is the command-line side of ray-train-efa: it judges NCCL
// logs, pins images, and starts rehearsals of the whole stack.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "raytrain",
		Short:         "Prove that multi-node PyTorch on AWS rides EFA",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newVerdictCommand(), newImageCommand(), newRehearseCommand())
	return root
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
