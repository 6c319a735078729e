package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/owned"
	"github.com/ray-train-efa/ray-train-efa/internal/recovery"
)

// exitLeft is the exit status of recover and destroy-check when something is left, as of rehearse.
const exitLeft = 3

// stackFlags name the stack of a command.
type stackFlags struct{ project, stack string }

func (f *stackFlags) add(command *cobra.Command) {
	command.Flags().StringVar(&f.project, "project", ".", "folder of Pulumi.yaml")
	command.Flags().StringVarP(&f.stack, "stack", "s", "", "stack (default: the selected one)")
}

// identity is what the stack's tags and its cluster are called.
type identity struct {
	region, cluster string
	tags            map[string]string
}

// projectName is the name in Pulumi.yaml, which the stack's tag `project` has.
const projectName = "ray-train-efa"

func (f *stackFlags) identity(ctx context.Context, p recovery.Pulumi) (identity, error) {
	region, err := p.Config(ctx, "awsRegion")
	if err != nil {
		return identity{}, fmt.Errorf("reading the settings of the stack: %w", err)
	}
	cluster, err := p.Config(ctx, "clusterName")
	if err != nil {
		return identity{}, fmt.Errorf("reading the settings of the stack: %w", err)
	}
	stack, err := p.StackName(ctx)
	if err != nil {
		return identity{}, fmt.Errorf("reading the name of the stack: %w", err)
	}
	return identity{region: region, cluster: cluster, tags: owned.StackTags(projectName, stack)}, nil
}

const recoverHelp = `Find what a killed update left, and import it into the stack's state or delete it.
Pulumi stores a resource only when its create returns. After kill -9, a crash or a
power failure, a control plane, a node group or a Helm release can exist that is not
in the state. The next pulumi up then fails, because the name is taken.

Steps:
  1. Read the pending operations of the state (pulumi stack export).
  2. Look for their resources: in AWS by the tags project and stack and by name, in
     the cluster by name (kubectl). Print one line for each.
  3. With --import: write them into the state, wait until AWS has completed them, and
     read them (pulumi refresh). A Helm release that was not fully installed is
     deleted, because Helm cannot continue it.
     With --delete: do the same, and then delete them (pulumi destroy --target).

pulumi, aws and kubectl must be on the PATH, with the credentials of pulumi up. If the
killed update still holds the stack's lock, run pulumi cancel --yes first.

Exit status:
  0  nothing is left outside the state
  1  usage or set-up error
  3  something is left, or may be left, outside the state`

func newRecoverCommand() *cobra.Command {
	var (
		flags               stackFlags
		importing, deleting bool
	)
	command := &cobra.Command{
		Use:   "recover",
		Short: "Find what a killed update left, and import or delete it",
		Long:  recoverHelp,
		Example: `  raytrain recover --stack dev
  raytrain recover --stack dev --import
  raytrain recover --stack dev --delete`,
		RunE: func(command *cobra.Command, _ []string) error {
			action := recovery.List
			switch {
			case importing && deleting:
				return errors.New("--import and --delete are both set; use one")
			case importing:
				action = recovery.Import
			case deleting:
				action = recovery.Delete
			}
			return recoverStack(command, flags, action)
		},
	}
	flags.add(command)
	command.Flags().BoolVar(&importing, "import", false, "import what was found into the state")
	command.Flags().BoolVar(&deleting, "delete", false, "delete what was found")
	return command
}

func recoverStack(command *cobra.Command, flags stackFlags, action recovery.Action) error {
	ctx, out := command.Context(), command.OutOrStdout()
	p := recovery.Pulumi{Project: flags.project, Stack: flags.stack, Out: out}
	stack, err := flags.identity(ctx, p)
	if err != nil {
		return fmt.Errorf("recovering the stack: %w", err)
	}
	dir, err := os.MkdirTemp("", "raytrain-recover-")
	if err != nil {
		return fmt.Errorf("making a folder for the kubeconfig: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cluster := recovery.Cluster{Name: stack.cluster, Region: stack.region, Dir: dir}
	unresolved, err := recovery.Run(ctx, p, recovery.Lookup{
		Tagged: func(ctx context.Context) ([]owned.Resource, error) {
			return owned.Find(ctx, stack.region, stack.tags)
		},
		Object: cluster.Object, Release: cluster.Release,
	}, action)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("recovering the stack: interrupted, raytrain recover continues: %w", err)
	case err != nil:
		return fmt.Errorf("recovering the stack: %w", err)
	}
	if len(unresolved) == 0 {
		fmt.Fprintln(out, "nothing is left outside the state; next: pulumi up, or pulumi destroy")
		return nil
	}
	if action == recovery.List {
		fmt.Fprintf(out, "%d left outside the state; next: raytrain recover --import, then pulumi up; "+
			"or raytrain recover --delete\n", len(unresolved))
	} else {
		fmt.Fprintf(out, "%d could not be decided, and the state no longer mentions them; next: look for "+
			"those above that are unknown, and delete them by hand if they exist\n", len(unresolved))
	}
	return &exit.Error{Code: exitLeft}
}
