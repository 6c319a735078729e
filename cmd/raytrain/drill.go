package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/drill"
	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

const drillHelp = `Run the built-in training on this host, without EFA, and judge it as the gate does:
NCCL's silent fallback to TCP must be refused, and with NCCL_NET pinned NCCL must
abort. It starts a Ray head and one Ray node for each rank on loopback addresses,
each with its own NCCL_HOSTID, so that NCCL uses its network between them.

It needs Linux, a Python with Ray 2.58 and torch, and a GPU. With fewer GPUs than
ranks, ranks share a GPU. --device cpu runs the same flow with gloo: there is no
NCCL then, so every verdict is inconclusive. Speeds say nothing about EFA.

Exit status:
  0  every case ended as expected
  1  usage or set-up error
  2  a case ended differently`

// drillFlags are the flags of `raytrain drill`.
type drillFlags struct {
	options drill.Options
	device  string
	json    string
}

// newDrillCommand returns `raytrain drill`.
func newDrillCommand() *cobra.Command {
	flags := drillFlags{}
	command := &cobra.Command{
		Use:   "drill [flags]",
		Short: "Run the training on this host, without EFA, and check that the gate refuses it",
		Long:  drillHelp,
		Example: `  raytrain drill
  raytrain drill --case fallback --case pinned
  raytrain drill --device cpu --python venv/bin/python`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.options.Python, "python", "python3", "interpreter that has Ray and torch")
	set.StringVar(&flags.device, "device", string(train.CUDA), "cuda, or cpu for the flow without NCCL")
	set.IntVar(&flags.options.Ranks, "ranks", 2, "number of ranks, each on its own Ray node")
	set.StringVar(&flags.options.Model, "model", "tiny", "model of the training: "+strings.Join(train.Models(), ", "))
	set.IntVar(&flags.options.Steps, "steps", 20, "optimizer steps")
	set.IntVar(&flags.options.SequenceLength, "sequence-length", 128, "tokens of one sequence")
	set.StringArrayVar(&flags.options.Cases, "case", nil, "run only this case (may be repeated)")
	set.DurationVar(&flags.options.Timeout, "timeout", 5*time.Minute, "time limit of one job")
	set.StringVar(&flags.options.Dir, "dir", "drill-evidence", "folder for the reports and logs of every run")
	set.StringVar(&flags.json, "json", "", "also write the outcomes to this file, as JSON")
	return command
}

func (f *drillFlags) run(command *cobra.Command) error {
	f.options.Device = train.Device(f.device)
	host, err := drill.Probe(command.Context(), f.options.Python)
	if err != nil {
		return err
	}
	if err := host.Check(f.options.Device); err != nil {
		return err
	}
	if f.options.Device == train.CUDA {
		f.options.GPUs = len(host.GPUs)
	}
	f.options.Log = func(line string) { command.PrintErrln("drill: " + line) }
	f.options.Log(fmt.Sprintf("Ray %s, torch %s, NCCL %s, GPUs %q", host.Ray, host.Torch, host.NCCL, host.GPUs))
	outcomes, err := drill.Run(command.Context(), f.options)
	if err != nil {
		return err
	}
	if f.json != "" {
		text, err := json.MarshalIndent(outcomes, "", "  ")
		if err == nil {
			err = os.WriteFile(f.json, append(text, '\n'), 0o600)
		}
		if err != nil {
			return fmt.Errorf("writing the outcomes: %w", err)
		}
	}
	if err := drillTable(command.OutOrStdout(), outcomes); err != nil {
		return err
	}
	for _, outcome := range outcomes {
		if !outcome.Expected {
			return &exit.Error{Code: 2, Err: fmt.Errorf(
				"case %q ended differently than expected; next: read its report in %q", outcome.Case, f.options.Dir)}
		}
	}
	return nil
}

// drillTable prints one line for each case.
func drillTable(out io.Writer, outcomes []drill.Outcome) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tVERDICT\tJOB\tEXIT\tSTEPS/S\tAS EXPECTED\tCAUSE")
	for _, o := range outcomes {
		code, speed, expected, cause := "-", "-", "no", o.Finding
		if o.ExitCode != nil {
			code = fmt.Sprint(*o.ExitCode)
		}
		if o.Result != nil && o.Result.StepsPerSecond != nil {
			speed = fmt.Sprintf("%.2f", *o.Result.StepsPerSecond)
		}
		if o.Expected {
			expected = "yes"
		}
		if o.Error != "" {
			cause, _, _ = strings.Cut(o.Error, "\n")
		}
		fmt.Fprintln(table, strings.Join([]string{
			o.Case, string(o.Verdict), string(o.Status), code, speed, expected, cause,
		}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the outcomes: %w", err)
	}
	return nil
}
