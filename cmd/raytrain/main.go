// Command raytrain judges NCCL logs and jobs, pins images and starts rehearsals of the whole stack.
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

const rootHelp = `raytrain checks that multi-node PyTorch training on AWS uses EFA. NCCL falls back
to TCP without an error: the job succeeds and runs at about half the speed.

Exit status: 0 on success, 1 on a usage or set-up error, 2 and above for a result, such
as the verdict not-efa. "raytrain COMMAND --help" lists them, with steps and examples.`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "raytrain",
		Short: "Check that multi-node PyTorch training on AWS uses EFA",
		Long:  rootHelp,
		Example: `  raytrain verdict logs/
  raytrain submit --address http://127.0.0.1:8265 --working-dir . -- python train.py
  raytrain rehearse
  raytrain image pin --stack dev`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newVerdictCommand(), newSubmitCommand(), newStatusCommand(), newImageCommand(), newRehearseCommand(),
		newRecoverCommand(), newDestroyCheckCommand(), newDrillCommand(), newReportCommand(), newCostCommand(),
		newBenchmarkCommand())
	usage.Install(root)
	return root
}

func main() { os.Exit(run()) }

func run() int {
	// A closed terminal sends SIGHUP, which would end recover in the middle of a step.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
