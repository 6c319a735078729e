package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/spf13/cobra"
)

// verdictFormat is an output form of `raytrain verdict`.
type verdictFormat struct {
	name  string
	write func(io.Writer, report.Report) error
}

// verdictFormats lists the forms; the help text is made of the same list.
func verdictFormats() []verdictFormat {
	return []verdictFormat{
		{"text", render.Text},
		{"json", render.JSON},
		{"html", render.HTML},
		{"junit", render.JUnit},
	}
}

func formatNames() string {
	var names []string
	for _, f := range verdictFormats() {
		names = append(names, f.name)
	}
	return strings.Join(names, "|")
}

// newVerdictCommand builds `raytrain verdict`: the judge over log files, with
// the verdict as exit status.
func newVerdictCommand() *cobra.Command {
	var (
		opts   nccl.Options
		format string
	)
	cmd := &cobra.Command{
		Use:   "verdict [flags] PATH...",
		Short: "Say whether the inter-node traffic in NCCL logs rode EFA",
		Long: `Read the NCCL logs of a run, however they were collected, and say whether every
rank's inter-node traffic rode EFA, with the lines that prove it.

A PATH is a file, a folder (all files below it), or - for standard input. Files
may be compressed (.gz, .zst) or tar archives. One file that cannot be read is
an error: the evidence would be incomplete.

Exit status: 0 efa, 1 usage or I/O error, 2 not-efa, 3 mixed, 4 inconclusive.

The logs need NCCL_DEBUG=INFO, with NCCL_DEBUG_SUBSYS unset. One file a process
(NCCL_DEBUG_FILE=/tmp/nccl.%h.%p) is best.`,
		Example: `  raytrain verdict /tmp/nccl.*.log
  raytrain verdict --world-size 8 --nodes 2 logs/
  kubectl logs -l job-name=train --tail=-1 --prefix | raytrain verdict -
  raytrain verdict --format json evidence.tar.gz | jq .findings
  raytrain verdict --completed --format json logs/ > report.json
  raytrain verdict --format html logs/ > verdict.html
  raytrain verdict --format junit logs/ > verdict.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no PATH: name the log files, a folder of them, or - for standard input; see `raytrain verdict --help`")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerdict(cmd, args, opts, format)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "text", "output form: "+formatNames())
	flags.IntVar(&opts.WorldSize, "world-size", 0, "number of ranks that the run must have")
	flags.IntVar(&opts.Nodes, "nodes", 0, "number of nodes that the run must span")
	flags.StringVar(&opts.Provider, "provider", "efa", "libfabric provider that the gate wants")
	flags.BoolVar(&opts.Completed, "completed", false, "the job is known to have ended well, which proves point-to-point channels")
	return cmd
}

func runVerdict(cmd *cobra.Command, paths []string, opts nccl.Options, format string) error {
	formats := verdictFormats()
	i := slices.IndexFunc(formats, func(f verdictFormat) bool { return f.name == format })
	problems := optionProblems(opts)
	if i < 0 {
		problems = append(problems, fmt.Errorf("flag --format %q: want one of %s", format, formatNames()))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	result, err := judge(cmd.Context(), paths, cmd.InOrStdin(), opts)
	if err != nil {
		return err
	}
	if err := formats[i].write(cmd.OutOrStdout(), result); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if code := result.Verdict.ExitCode(); code != 0 {
		return &exit.Error{Code: code}
	}
	return nil
}

// optionProblems lists the expectations that no run can meet.
func optionProblems(opts nccl.Options) []error {
	var problems []error
	if opts.WorldSize < 0 {
		problems = append(problems, fmt.Errorf("flag --world-size %d: want a number of ranks, such as 8", opts.WorldSize))
	}
	if opts.Nodes < 0 {
		problems = append(problems, fmt.Errorf("flag --nodes %d: want a number of nodes, such as 2", opts.Nodes))
	}
	if opts.WorldSize > 0 && opts.Nodes > opts.WorldSize {
		problems = append(problems, fmt.Errorf("flag --nodes %d: want at most --world-size %d: a node has a rank or more", opts.Nodes, opts.WorldSize))
	}
	if opts.Provider == "" {
		problems = append(problems, errors.New(`flag --provider "": want a libfabric provider's name, such as efa`))
	}
	return problems
}

// judge collects and judges, and stops waiting when ctx ends: a read of standard
// input or of a pipe that nobody writes to knows no context.
func judge(ctx context.Context, paths []string, stdin io.Reader, opts nccl.Options) (report.Report, error) {
	type outcome struct {
		report report.Report
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		sources, err := nccl.Collect(paths, stdin)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		restore := boundMemory()
		defer restore()
		result, err := nccl.Judge(ctx, sources, opts)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.report, o.err
	case <-ctx.Done():
		return report.Report{}, fmt.Errorf("reading logs: %w", ctx.Err())
	}
}

// boundMemory lets the garbage collector run seldom, as a judgement of some
// hundred milliseconds leaves little garbage, while all memory that is not the
// kernel's cache of the logs stays within about 64 MiB.
func boundMemory() (restore func()) {
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(48<<20)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
