package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/owned"
	"github.com/ray-train-efa/ray-train-efa/internal/recovery"
)

const destroyCheckHelp = `List what in the AWS account still carries the stack's tags (project and stack), or
the tag that EKS puts on the instances and volumes of the stack's cluster. Run it
after pulumi destroy.

It asks the Resource Groups Tagging API in the stack's region (permission
tag:GetResources), and KMS for the state of keys. A key that is pending deletion
costs nothing and is not listed. That API does not know IAM roles, and may list a
deleted NAT gateway or a terminated instance for about an hour.

Exit status:
  0  nothing is left
  1  usage or set-up error
  3  something is left`

func newDestroyCheckCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:     "destroy-check",
		Short:   "List what is left of the stack in the AWS account",
		Long:    destroyCheckHelp,
		Example: `  raytrain destroy-check --stack dev`,
		RunE:    func(command *cobra.Command, _ []string) error { return checkDestroyed(command, flags) },
	}
	flags.add(command)
	return command
}

func checkDestroyed(command *cobra.Command, flags stackFlags) error {
	ctx, out := command.Context(), command.OutOrStdout()
	p := recovery.Pulumi{Project: flags.project, Stack: flags.stack, Out: out}
	stack, err := flags.identity(ctx, p)
	if err != nil {
		return fmt.Errorf("checking what is left: %w", err)
	}
	left, err := owned.Left(ctx, stack.region, stack.tags, map[string]string{"eks:cluster-name": stack.cluster})
	if err != nil {
		return fmt.Errorf("checking what is left: %w", err)
	}
	for _, one := range left {
		fmt.Fprintln(out, one.ARN)
	}
	if len(left) == 0 {
		fmt.Fprintf(out, "nothing in %s carries the tags of this stack\n", stack.region)
		return nil
	}
	fmt.Fprintf(out, "%d resources in %s carry the tags of this stack and may cost money; next: pulumi destroy; "+
		"if the stack is empty, delete them by hand\n", len(left), stack.region)
	return &exit.Error{Code: exitLeft}
}
