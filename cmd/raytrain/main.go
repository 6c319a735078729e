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

  verdict   read the NCCL logs of any run and report whether it used EFA
  submit    run a job on any Ray cluster and report whether it used EFA
  status    show the job of a stack or RayCluster, its verdict so far, and the cost
  rehearse  run the whole Pulumi stack on an emulated AWS account, at no cost
  benchmark
            measure what EFA is worth on a Ray cluster
  report    compare the reports of two runs
  drill     show on a GPU of this host, without EFA, what the gate refuses
  image     choose the container image that the stack runs, by digest
  cost      show what a stack or another choice of nodes costs
  recover   find what a killed update left, and import or delete it
  destroy-check
            list what is left of a stack in the AWS account

Use "raytrain COMMAND --help" for steps, examples and exit statuses.
Exit status: 0 on success, 1 on a usage or set-up error. verdict, submit and rehearse
use 2 and above for their results.`

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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exit.Status(os.Stderr, newRootCommand().ExecuteContext(ctx))
}
