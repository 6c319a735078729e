package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

// noGoHost warns that `pulumi preview` could not run the program. It goes to the error stream,
// because the shell evaluates the other one.
const noGoHost = "note: pulumi-language-go was not found; preview and up need a released Pulumi CLI. " +
	"destroy, stack and kubectl work without it"

func newEnvCommand(flags *rehearseFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "env --dir DIR",
		Short: "Print shell exports with which pulumi and kubectl work on a kept rehearsal",
		Long: `Print shell exports with which a released Pulumi CLI and kubectl work on a kept rehearsal.
Run in the checkout, in a new shell:

  raytrain rehearse preview --dir DIR     # starts the rehearsal, with an empty account
  eval "$(raytrain rehearse env --dir DIR)"
  pulumi preview && pulumi up
  aws eks update-kubeconfig --name ray-train-efa && kubectl get pods -A
  pulumi destroy

A Pulumi CLI before 3.208 also needs --config-file "$RAYTRAIN_REHEARSAL_CONFIG". The engine prints a
warning for each plugin that it takes from the PATH; this is expected.`,
		RunE: func(command *cobra.Command, _ []string) error {
			if _, err := flags.running(command); err != nil {
				return err
			}
			root, err := flags.checkout()
			if err != nil {
				return err
			}
			variables, err := rehearsal.ShellEnvironment(flags.dir, root)
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(variables)) {
				fmt.Fprintf(command.OutOrStdout(), "export %s=%s\n", name,
					shellQuote(variables[name]))
			}
			if !goHostFound() {
				fmt.Fprintln(command.ErrOrStderr(), noGoHost)
			}
			return nil
		},
	}
}

// goHostFound reports whether the Pulumi CLI on the PATH finds its Go language host: on the PATH,
// or next to itself.
func goHostFound() bool {
	const host = "pulumi-language-go"
	if _, err := exec.LookPath(host); err == nil {
		return true
	}
	cli, err := exec.LookPath("pulumi")
	if err != nil {
		return false
	}
	if cli, err = filepath.EvalSymlinks(cli); err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(filepath.Dir(cli), host))
	return err == nil
}

// shellQuote quotes text as one word of a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
