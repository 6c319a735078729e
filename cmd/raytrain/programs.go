package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// Programs of commands that link Pulumi's or Kubernetes' packages, which take longer to initialize
// than `raytrain verdict` takes to judge. They are in the same folder as this program.
const (
	rehearseProgram = "raytrain-rehearse"
	clusterProgram  = "raytrain-cluster"
)

// newRehearseCommand returns `raytrain rehearse`.
func newRehearseCommand() *cobra.Command {
	return newProgramCommand(rehearseProgram, &cobra.Command{
		Use:   "rehearse",
		Short: "Run the whole stack on an emulated AWS account on this machine",
		Long: `Run the whole stack on an emulated AWS account on this machine: preview, up,
verdict, destroy. "raytrain rehearse --help" lists its flags and commands.`,
	})
}

// newSubmitCommand returns `raytrain submit`.
func newSubmitCommand() *cobra.Command {
	return newProgramCommand(clusterProgram, &cobra.Command{
		Use:   "submit",
		Short: "Run a job on any Ray cluster and report whether it used EFA",
		Long: `Run a script as a job on any Ray cluster, as "ray job submit" does, and report
whether its traffic between nodes used EFA. "raytrain submit --help" lists its flags.`,
		Example: `  raytrain submit --address http://127.0.0.1:8265 --working-dir . -- python train.py`,
	})
}

// newProgramCommand makes a command replace this process with a program. The program reads the
// flags, --help among them.
func newProgramCommand(program string, command *cobra.Command) *cobra.Command {
	command.DisableFlagParsing = true
	command.RunE = func(command *cobra.Command, args []string) error {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		return become(filepath.Join(filepath.Dir(self), program), command.Name(), args)
	}
	return command
}

// become replaces this process with program and returns only on failure. Signals and the exit
// status are then the program's own.
func become(program, command string, args []string) error {
	err := syscall.Exec(program, append([]string{program, command}, args...), os.Environ())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("starting %s: %q does not exist; next: run `make build` in the checkout "+
			"(the first build takes about half an hour)", command, program)
	}
	return fmt.Errorf("starting %s with %q: %w", command, program, err)
}

// newStatusCommand returns `raytrain status`.
func newStatusCommand() *cobra.Command {
	return newProgramCommand(clusterProgram, &cobra.Command{
		Use:   "status",
		Short: "Show the training job of a cluster, its verdict so far, and the cost",
		Long: `Show the newest training job of a stack or RayCluster, the verdict on its evidence so
far, nodes, pods and cost. "raytrain status --help" lists its flags.`,
		Example: `  raytrain status --watch`,
	})
}

// newBenchmarkCommand returns `raytrain benchmark`.
func newBenchmarkCommand() *cobra.Command {
	return newProgramCommand(clusterProgram, &cobra.Command{
		Use:   "benchmark",
		Short: "Measure what EFA is worth on a Ray cluster",
		Long: `Run experiments with the built-in training on a Ray cluster: efa-vs-tcp, scaling,
allreduce, recovery. "raytrain benchmark --help" lists its flags.`,
		Example: `  raytrain benchmark efa-vs-tcp --address http://127.0.0.1:8265`,
	})
}
