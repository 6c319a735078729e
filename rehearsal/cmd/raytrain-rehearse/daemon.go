package main

import (
	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images/program"
)

// newDaemonCommand runs the process behind a rehearsal, which `rehearse` starts.
func newDaemonCommand() *cobra.Command {
	config := daemon.Config{}
	command := &cobra.Command{
		Use: daemon.Command, Short: "Run the process behind a rehearsal", Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			return daemon.Run(command.Context(),
				config)
		},
	}
	command.Flags().StringVar(&config.Dir, "dir", "", "the rehearsal's folder")
	command.Flags().StringVar(&config.Root, "root", "", "the checkout")
	command.Flags().Float64Var(&config.Speed, "speed", 0, "divisor of AWS's latencies")
	return command
}

// newProgramCommand runs the program of a rehearsed image, such as a device plugin.
func newProgramCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rehearsal-program NAME", Short: "Run the program of a rehearsed image", Hidden: true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := program.Run(args); code != 0 {
				return &exit.Error{Code: code}
			}
			return nil
		},
	}
}
