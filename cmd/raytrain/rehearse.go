package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// rehearseProgram is the program of `raytrain rehearse`, in the same folder. It links Pulumi's and
// Kubernetes' packages, which take longer to initialize than `raytrain verdict` takes to judge.
const rehearseProgram = "raytrain-rehearse"

// newRehearseCommand returns `raytrain rehearse`, which replaces this process with its program.
// That program reads the flags, --help among them.
func newRehearseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rehearse",
		Short: "Run the whole stack on an emulated AWS account on this machine",
		Long: `Run the whole stack on an emulated AWS account on this machine: preview, up,
verdict, destroy. "raytrain rehearse --help" lists its flags and commands.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			return become(filepath.Join(filepath.Dir(self), rehearseProgram), args)
		},
	}
}

// become replaces this process with program and returns only on failure. Signals and the exit
// status are then the program's own.
func become(program string, args []string) error {
	err := syscall.Exec(program, append([]string{program, "rehearse"}, args...), os.Environ())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("starting a rehearsal: %q does not exist; next: run `make build` in the checkout "+
			"(the first build takes about half an hour)", program)
	}
	return fmt.Errorf("starting a rehearsal with %q: %w", program, err)
}
