package benchmark

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/render"
)

const unknown = "unknown"

// notice is on every report of a rehearsed experiment.
const notice = "REHEARSED: without GPUs or without EFA. No figure says anything about either."

// table returns the runs as rows for people, the header first.
func (o Outcome) table() [][]string {
	speed := func(unit string) string {
		if o.Rehearsed {
			return labeled(unit)
		}
		return unit
	}
	rows := [][]string{{
		"run", "nodes", "ranks", "verdict", "expected", "job", speed("steps/s"), speed("tokens/s"),
		"MFU", "exposed communication", "report",
	}}
	for _, run := range o.Runs {
		result := run.measured()
		var exposed *float64
		if result.Split != nil {
			whole := result.Split.Compute + result.Split.ExposedCommunication
			exposed = percent(divide(&result.Split.ExposedCommunication, &whole))
		}
		share := show(exposed)
		if exposed != nil {
			share += " %"
		}
		rows = append(rows, []string{
			run.Arm, strconv.Itoa(run.Nodes), strconv.Itoa(run.Ranks), string(run.Verdict), string(run.Want),
			string(run.Status), show(result.StepsPerSecond), show(result.TokensPerSecond), show(result.MFU), share, run.Report,
		})
	}
	return rows
}

// String returns the figure for people.
func (f Figure) String() string { return strings.TrimSpace(show(f.Value) + " " + f.Unit) }

// Markdown writes the outcome for a terminal or a pull request.
func (o Outcome) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", o.Experiment)
	if o.Rehearsed {
		fmt.Fprintf(&b, "> **%s**\n\n", notice)
	}
	fmt.Fprintf(&b, "**%s**\n\n%s\n\n| | |\n|---|---|\n", o.Sentence, o.About)
	for _, f := range o.Figures {
		fmt.Fprintf(&b, "| %s | %s |\n", f.Name, f)
	}
	for i, row := range o.table() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	fmt.Fprintf(&b, "\n```text\n%s```\n\n%s\n", o.Chart.Text(), o.Chart.About)
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed page.html.tmpl
var pageTemplate string

// HTML writes the outcome as one page that loads nothing and runs no script.
func (o Outcome) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parsing the page template: %w", err)
	}
	rows := o.table()
	return t.Execute(w, struct {
		Outcome
		Style        template.CSS
		Notice       string
		Header       []string
		Rows         [][]string
		MadeAt, Mark string
	}{
		Outcome: o, Style: render.Style(), Notice: notice, Header: rows[0], Rows: rows[1:],
		MadeAt: o.Made.UTC().Format("2006-01-02 15:04 UTC"), Mark: map[bool]string{true: "✓", false: "✕"}[o.Valid],
	})
}

// JSON writes the outcome with every measured value.
func (o Outcome) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(o)
}

// Write writes report.html, report.md and report.json to a new folder below dir and returns its path.
func (o Outcome) Write(dir string) (folder string, err error) {
	folder = filepath.Join(dir, "benchmark-"+o.Experiment+"-"+o.Made.UTC().Format("20060102T150405Z"))
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"report.html": o.HTML, "report.md": o.Markdown, "report.json": o.JSON,
	} {
		var text strings.Builder
		err := write(&text)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), []byte(text.String()), 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return folder, nil
}
