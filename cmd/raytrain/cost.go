package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/cost"
	"github.com/ray-train-efa/ray-train-efa/internal/recovery"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

const costHelp = `Show what a stack costs per hour and what it has cost so far, or what another choice
of nodes would cost. The prices are those that pulumi preview uses, with their dates.

With --stack, it reads the stack's state (pulumi stack export): node groups, region
and age. Without it, it prices the default stack. --type, --nodes, --system-type and
--region replace parts of either. AWS is not asked.

The control plane is priced at standard support. The setting "prices" of a stack is
not read, but the price that its last update printed is shown when it differs.

Exit status: 0, or 1 on a usage or set-up error, and when a price is unknown.`

// costFlags are the flags of `raytrain cost`.
type costFlags struct {
	project, stack           string
	gpuType, systemType, reg string
	nodes                    int
	hours                    float64
	format                   string
}

func newCostCommand() *cobra.Command {
	var flags costFlags
	command := &cobra.Command{
		Use:   "cost",
		Short: "Show what a stack or another choice of nodes costs",
		Long:  costHelp,
		Example: `  raytrain cost --stack dev --hours 8
  raytrain cost --type p5.48xlarge --nodes 4 --hours 24
  raytrain cost --stack dev --type g6e.12xlarge --format json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.project, "project", ".", "folder of Pulumi.yaml, with --stack")
	set.StringVarP(&flags.stack, "stack", "s", "", "stack to price")
	set.StringVar(&flags.gpuType, "type", "", "instance type of the GPU nodes")
	set.IntVar(&flags.nodes, "nodes", 0, "number of GPU nodes")
	set.StringVar(&flags.systemType, "system-type", "", "instance type of the system nodes")
	set.StringVar(&flags.reg, "region", "", "AWS region")
	set.Float64Var(&flags.hours, "hours", 1, "hours to price")
	set.StringVar(&flags.format, "format", "table", "table or json")
	return command
}

// defaultRequest is the stack without settings.
func defaultRequest() capacity.Request {
	return capacity.Request{
		Region: "us-east-2", KubernetesVersion: "1.36",
		GPU:    capacity.Group{Type: "g6.12xlarge", Nodes: 2, VolumeGiB: 200},
		System: capacity.Group{Type: "m7i.xlarge", Nodes: 1, VolumeGiB: 100},
	}
}

func (f costFlags) run(command *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	stack := cost.Stack{Request: defaultRequest()}
	if f.stack != "" {
		exported, err := recovery.Pulumi{
			Project: f.project, Stack: f.stack, Out: os.Stderr,
		}.ExportJSON(command.Context())
		if err != nil {
			return fmt.Errorf("reading the stack: %w", err)
		}
		if stack, err = cost.FromState(exported); err != nil {
			return fmt.Errorf("pricing stack %q: %w", f.stack, err)
		}
	}
	report := f.change(&stack).Report(f.hours, time.Now())
	report.Stack = f.stack
	out := command.OutOrStdout()
	if f.format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	} else {
		fmt.Fprint(out, report.Text())
	}
	if len(report.Unknown) > 0 {
		return fmt.Errorf("the price of %v in %s is unknown: the table of prices does not have it; "+
			"next: set the setting prices, and see pulumi preview", report.Unknown, report.Region)
	}
	return nil
}

// check reports all flags that are out of range at once.
func (f costFlags) check() error {
	var problems []error
	if f.format != "table" && f.format != "json" {
		problems = append(problems, fmt.Errorf("--format %q: must be table or json", f.format))
	}
	if f.hours <= 0 {
		problems = append(problems, fmt.Errorf("--hours %g: must be above 0", f.hours))
	}
	if f.nodes < 0 {
		problems = append(problems, fmt.Errorf("--nodes %d: must be 1 or more", f.nodes))
	}
	if f.reg != "" {
		if _, err := region.Parse(f.reg); err != nil {
			problems = append(problems, fmt.Errorf("--region %q: %w", f.reg, err))
		}
	}
	return errors.Join(problems...)
}

// change replaces what the flags name. The price of another stack has no past.
func (f costFlags) change(stack *cost.Stack) cost.Stack {
	before := *stack
	request := &stack.Request
	if f.gpuType != "" {
		request.GPU.Type = f.gpuType
	}
	if f.nodes > 0 {
		request.GPU.Nodes = f.nodes
	}
	if f.systemType != "" {
		request.System.Type = f.systemType
	}
	if f.reg != "" {
		request.Region = region.Region(f.reg)
	}
	if request.GPU != before.Request.GPU || request.System != before.Request.System ||
		request.Region != before.Request.Region {
		return cost.Stack{Request: *request}
	}
	return before
}
