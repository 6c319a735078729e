package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/usage"
	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

const verdictHelp = `Read the NCCL logs of a run and report whether the traffic of every rank between
nodes used EFA, with the log lines that prove it. Nothing leaves this machine.

A PATH is a file, a folder (all files below it) or - for standard input. Files
may be compressed (.gz, .zst) or tar archives. It is an error if any file
cannot be read.

Steps:
  1. Run the job with NCCL_DEBUG=INFO and without NCCL_DEBUG_SUBSYS. One file for
     each process is best: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p
  2. Collect the logs of every rank on every node.
  3. Run this command on the logs. Set --world-size and --nodes to detect missing
     ranks and nodes.
  4. If the verdict is not efa, do what the report's "next" line says.
     --explain CODE has more about a finding.

Exit status:
  0  efa           all traffic between nodes used EFA, and the logs prove it
  1                usage or I/O error (no verdict)
  2  not-efa       all traffic between nodes in the logs used something else
  3  mixed         part of the traffic used EFA, part did not
  4  inconclusive  the logs do not prove either; the findings list what is missing`

// verdictFlags are the flags of `raytrain verdict`.
type verdictFlags struct {
	judge  nccl.Options
	format string
	proof  bool
	// explain is the code of a finding to explain, instead of judging.
	explain string
}

// newVerdictCommand returns `raytrain verdict`: the judge over log files, with the verdict as exit
// status.
func newVerdictCommand() *cobra.Command {
	flags := verdictFlags{}
	command := &cobra.Command{
		Use:   "verdict [flags] PATH...",
		Short: "Report whether the traffic in NCCL logs used EFA",
		Long:  verdictHelp,
		Example: `  raytrain verdict /tmp/nccl.*.log
  raytrain verdict --world-size 8 --nodes 2 logs/
  kubectl logs -l job-name=train --tail=-1 --prefix | raytrain verdict -
  raytrain verdict --format json evidence.tar.gz | jq .findings
  raytrain verdict --format html logs/ > verdict.html
  raytrain verdict --format markdown logs/ >> "$GITHUB_STEP_SUMMARY"
  raytrain verdict --format junit logs/ > verdict.xml
  raytrain verdict --explain never-connected`,
		Args: func(command *cobra.Command, paths []string) error {
			if flags.explain != "" && len(paths) == 0 {
				return nil
			}
			return usage.Check(command, paths)
		},
		RunE: func(command *cobra.Command, paths []string) error {
			if flags.explain != "" {
				return explainFinding(command.OutOrStdout(), flags.explain)
			}
			return flags.run(command, paths)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.format, "format", render.Formats()[0].Name, "output format: "+formatNames())
	set.BoolVar(&flags.proof, "proof", false, "show the log lines that the verdict is based on")
	set.StringVar(&flags.explain, "explain", "", "explain the finding with this code and exit")
	set.IntVar(&flags.judge.WorldSize, "world-size", 0, "number of ranks that the run must have")
	set.IntVar(&flags.judge.Nodes, "nodes", 0, "number of nodes that the run must use")
	set.StringVar(&flags.judge.Provider, "provider", "efa", "libfabric provider that the run must use")
	set.BoolVar(&flags.judge.Completed, "completed", false,
		"the job succeeded; needed to prove point-to-point channels")
	return command
}

func formatNames() string {
	var names []string
	for _, f := range render.Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, "|")
}

func (f *verdictFlags) run(command *cobra.Command, paths []string) error {
	formats := render.Formats()
	i := slices.IndexFunc(formats, func(format render.Format) bool { return format.Name == f.format })
	problems := f.problems()
	if i < 0 {
		problems = append(problems,
			fmt.Errorf("flag --format %q: must be one of %s", f.format, formatNames()))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	result, err := judge(command, paths, f.judge)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	options := render.Options{Made: time.Now(), Inputs: paths, Proof: f.proof, Color: wantsColor(out)}
	if err := formats[i].Write(out, result, options); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if code := result.Verdict.ExitCode(); code != 0 {
		return &exit.Error{Code: code}
	}
	return nil
}

// problems lists invalid flag values.
func (f *verdictFlags) problems() []error {
	var problems []error
	size, nodes := f.judge.WorldSize, f.judge.Nodes
	if size < 0 {
		problems = append(problems,
			fmt.Errorf("flag --world-size %d: must be a number of ranks, such as 8", size))
	}
	if nodes < 0 {
		problems = append(problems, fmt.Errorf("flag --nodes %d: must be a number of nodes, such as 2", nodes))
	}
	if size > 0 && nodes > size {
		problems = append(problems, fmt.Errorf(
			"flag --nodes %d: must be at most --world-size %d, because a node has one rank or more", nodes, size))
	}
	if f.judge.Provider == "" {
		problems = append(problems,
			errors.New(`flag --provider "": must be a libfabric provider, such as efa`))
	}
	return problems
}

// judge collects the logs and judges them. It ends with the command's context, although a read of
// standard input or of a pipe that nothing writes to does not.
func judge(command *cobra.Command, paths []string, opts nccl.Options) (report.Report, error) {
	type outcome struct {
		report report.Report
		err    error
	}
	var sources atomic.Int64
	stop := progress(command.ErrOrStderr(), progressAfter, func() string {
		if n := sources.Load(); n > 0 {
			return fmt.Sprintf("reading %d logs", n)
		}
		return "collecting the logs"
	})
	defer stop()
	ctx := command.Context()
	done := make(chan outcome, 1)
	go func() {
		result, err := collectAndJudge(ctx, paths, command.InOrStdin(), opts, &sources)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.report, o.err
	case <-ctx.Done():
		return report.Report{}, fmt.Errorf("reading logs: %w", ctx.Err())
	}
}

func collectAndJudge(
	ctx context.Context, paths []string, stdin io.Reader, opts nccl.Options, count *atomic.Int64,
) (report.Report, error) {
	sources, err := nccl.Collect(paths, stdin)
	if err != nil {
		return report.Report{}, err
	}
	count.Store(int64(len(sources)))
	defer boundMemory()()
	return nccl.Judge(ctx, sources, opts)
}

// boundMemory makes the garbage collector run rarely. A judgement takes a fraction of a second and
// leaves little garbage. All memory that is not the kernel's cache of the logs stays within about
// 64 MiB.
func boundMemory() (restore func()) {
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(48<<20)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
