// Package refusal writes the one message that a failed gate shows: the cause,
// the evidence, the next command, and what it costs to think about it. It fits
// a screen.
package refusal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// scriptLines is how much of a failed job's output is shown.
const scriptLines = 6

// Refusal is why an update must not pass.
type Refusal struct {
	Verdict   string
	Rehearsed bool
	// SubmissionID and JobStatus are empty when no job ran.
	SubmissionID string
	JobStatus    string
	ExitCode     *int
	// Interrupted is true when the job was not judged, whether it runs or not.
	Interrupted bool
	// RanksSeen and WorldSize are how many ranks are in evidence, and should be.
	RanksSeen, WorldSize int
	// TimedOut is true when the job was stopped at its deadline, StillActive when
	// it was told to and did not.
	TimedOut, StillActive bool

	DeadlineSeconds int
	Findings        []jobs.Finding
	// Output is the end of a failed job's output.
	Output string
	// ReportPath is where the whole report lies.
	ReportPath string
	HourlyUSD  float64
}

// Render writes the message, without a final line end.
func Render(r Refusal) string {
	lines := []string{headline(r)}
	if r.SubmissionID != "" && !r.Interrupted {
		lines = append(lines, jobLine(r))
	}
	lead, others := choose(r.Findings)
	if lead != nil {
		lines = append(lines, "cause:    "+lead.Cause)
		lines = append(lines, "evidence: "+cite(*lead))
	}
	if output := tail(r.Output, scriptLines); len(output) > 0 {
		lines = append(lines, "the script's last lines:")
		for _, line := range output {
			lines = append(lines, "  | "+line)
		}
	}
	lines = append(lines, "next:     "+next(r, lead))
	for _, other := range others {
		lines = append(lines, "also:     "+other)
	}
	ending := []string{}
	if r.ReportPath != "" {
		ending = append(ending, "report:   "+r.ReportPath)
	}
	ending = append(ending, billing(r))
	return screen.Fit(lines, ending, "in the report")
}

func headline(r Refusal) string {
	prefix := ""
	if r.Rehearsed {
		prefix = "[rehearsed] "
	}
	switch {
	case r.Interrupted:
		return prefix + "interrupted before there was a verdict"
	case r.SubmissionID == "":
		return prefix + "refused before the job: verdict " + r.Verdict
	case r.Verdict == "efa":
		return prefix + "refused: the ranks rode EFA (verdict efa), but the job did not end well"
	default:
		return prefix + "refused: verdict " + r.Verdict + ", wanted efa"
	}
}

func jobLine(r Refusal) string {
	status := r.JobStatus
	if status == "" {
		status = "unknown to Ray"
	}
	if r.ExitCode != nil {
		status += fmt.Sprintf(" (exit status %d)", *r.ExitCode)
	}
	switch {
	case r.StillActive:
		status = fmt.Sprintf("%s, did not stop at its deadline of %d s", status, r.DeadlineSeconds)
	case r.TimedOut:
		status = fmt.Sprintf("stopped at its deadline of %d s", r.DeadlineSeconds)
	}
	return fmt.Sprintf("job:      %s %s; %d of %d ranks in evidence", r.SubmissionID, status, r.RanksSeen, r.WorldSize)
}

// choose takes the finding that explains most, and one line for each other code.
func choose(findings []jobs.Finding) (*jobs.Finding, []string) {
	var lead *jobs.Finding
	for _, severity := range []string{"error", "warning"} {
		for i := range findings {
			if lead == nil && findings[i].Severity == severity {
				lead = &findings[i]
			}
		}
	}
	if lead == nil {
		return nil, nil
	}
	codes := []string{lead.Code}
	var others []string
	for _, finding := range findings {
		if finding.Severity == "note" || slices.Contains(codes, finding.Code) {
			continue
		}
		codes = append(codes, finding.Code)
		others = append(others, finding.Code+": "+cite(finding))
	}
	return lead, others
}

// cite is where a finding rests and what it says there.
func cite(f jobs.Finding) string {
	text := f.Text
	switch {
	case f.File != "" && f.Line > 0:
		text = fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
	case f.File != "":
		text = f.File + ": " + f.Text
	}
	return text
}

// next is never empty: whoever is refused must know what to do.
func next(r Refusal, lead *jobs.Finding) string {
	switch {
	case lead != nil && lead.Next != "":
		return lead.Next
	case r.SubmissionID == "":
		return "pulumi up"
	default:
		return "read driver.log beside the report, mend the cause, then `pulumi up` runs the next attempt"
	}
}

func billing(r Refusal) string {
	price := "an unknown price"
	if r.HourlyUSD > 0 {
		price = fmt.Sprintf("$%.2f", r.HourlyUSD)
	}
	if r.Rehearsed {
		return "billing:  nothing in a rehearsal; on AWS now " + price + " per hour until `pulumi destroy`"
	}
	return "billing:  now " + price + " per hour until `pulumi destroy`"
}

func tail(text string, count int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n\t"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-count):]
}
