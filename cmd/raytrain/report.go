package main

import (
	"fmt"
	"html"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/screen"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
)

const reportHelp = `Work with the reports of runs. "raytrain report diff" compares two of them.`

const reportDiffHelp = `Compare the report.json of two runs: verdict, network, speed, cost, and the findings
that only one of them has. raytrain submit, raytrain drill and a stack write this file
beside report.txt. What a run does not show is "unknown". The cost is the price of the
stack for the time of the job.

Exit status:
  0  run B is not worse than run A
  1  usage error, or a file is no report of a run
  2  run B is worse: A is efa and B is not, or a finding of severity error appeared.
     Speed and cost do not count.`

// newReportCommand returns `raytrain report`.
func newReportCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "report", Short: "Compare the reports of two runs", Long: reportHelp,
		Example: `  raytrain report diff evidence/run-a/report.json evidence/run-b/report.json`,
	}
	var format string
	diff := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Show how run B differs from run A",
		Long:  reportDiffHelp,
		Example: `  raytrain report diff evidence/run-a/report.json evidence/run-b/report.json
  raytrain report diff --format markdown a.json b.json >> "$GITHUB_STEP_SUMMARY"`,
		Args: cobra.ExactArgs(2), //nolint:mnd // two runs
		RunE: func(command *cobra.Command, paths []string) error {
			write, ok := map[string]func(io.Writer, evidence.Comparison) error{
				"text": writeText, "markdown": writeMarkdown,
			}[format]
			if !ok {
				return fmt.Errorf("flag --format %q: must be one of text|markdown", format)
			}
			comparison, err := evidence.Compare(paths[0], paths[1])
			if err != nil {
				return err
			}
			if err := write(command.OutOrStdout(), comparison); err != nil {
				return fmt.Errorf("writing the comparison: %w", err)
			}
			if comparison.Worse {
				return &exit.Error{Code: 2}
			}
			return nil
		},
	}
	diff.Flags().StringVar(&format, "format", "text", "output format: text|markdown")
	command.AddCommand(diff)
	return command
}

// conclusion is the first line of a comparison.
func conclusion(c evidence.Comparison) string {
	if c.Worse {
		return "Run B is worse than run A."
	}
	return "Run B is not worse than run A."
}

// writeText writes a comparison for a terminal.
func writeText(out io.Writer, c evidence.Comparison) error {
	var text strings.Builder
	fmt.Fprintln(&text, conclusion(c))
	fmt.Fprintln(&text)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tA\tB\tCHANGE")
	for _, v := range c.Values {
		fmt.Fprintln(table, strings.Join([]string{
			v.Name, screen.Printable(v.Before), screen.Printable(v.After), v.Percent,
		}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, f := range findingRows(c) {
		fmt.Fprintf(&text, "%s %s (%s): %s\n", f.sign, screen.Printable(f.Code), f.Severity, screen.Printable(f.Cause))
		if f.Next != "" && f.sign == "+" {
			fmt.Fprintf(&text, "    next: %s\n", screen.Printable(f.Next))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writeMarkdown writes a comparison for a pull request.
func writeMarkdown(out io.Writer, c evidence.Comparison) error {
	// The logs of a run are text of others.
	clean := func(s string) string {
		return strings.NewReplacer("|", `\|`, "`", "'").Replace(html.EscapeString(screen.Printable(s)))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "**%s**\n\n| | A | B | change |\n|---|---|---|---|\n", conclusion(c))
	for _, v := range c.Values {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", v.Name, clean(v.Before), clean(v.After), v.Percent)
	}
	if rows := findingRows(c); len(rows) > 0 {
		fmt.Fprint(&text, "\n| | finding | severity | cause |\n|---|---|---|---|\n")
		for _, f := range rows {
			where := "only A"
			if f.sign == "+" {
				where = "only B"
			}
			fmt.Fprintf(&text, "| %s | `%s` | %s | %s |\n", where, clean(f.Code), clean(string(f.Severity)), clean(f.Cause))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// findingRow is a finding of one run only: "+" for the second, "-" for the first.
type findingRow struct {
	sign string
	report.Finding
}

func findingRows(c evidence.Comparison) []findingRow {
	var rows []findingRow
	for _, f := range c.Appeared {
		rows = append(rows, findingRow{"+", f})
	}
	for _, f := range c.Gone {
		rows = append(rows, findingRow{"-", f})
	}
	return rows
}
