package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// outputLines is how much of a failed job's output a refusal shows.
const outputLines = 6

// refuseRun returns why a job that was judged does not pass. log is the end of the driver's output.
func refuseRun(state State, end follow.Outcome, log []byte) *refusal.Refusal {
	summary := fmt.Sprintf("refused: the verdict is %s; efa is required", state.Verdict)
	if state.Verdict == report.EFA {
		summary = "refused: the ranks used EFA (verdict efa), but the job did not succeed"
	}
	refused := refuse(state, "job-failed", summary,
		"read driver.log next to the report, fix the error, then pulumi up")
	if state.EFASecurityGroupID != "" && refused.Code == finding.NeverConnected.String() {
		refused.Next = fmt.Sprintf("run `aws ec2 describe-security-group-rules --region %s --filters "+
			"Name=group-id,Values=%s`: all traffic (protocol -1) must be allowed from and to %[2]s; then pulumi up",
			state.AWSRegion, state.EFASecurityGroupID)
	}
	if refused.Cause == "" {
		explainStop(refused, end.Stopped)
	}
	refused.Context = []string{fmt.Sprintf("job:      %s %s; %d of %d ranks in evidence",
		state.SubmissionID, statusText(state, end), *state.WorldSize, state.Expectations.WorldSize)}
	if end.Job.Status == rayapi.Failed {
		refused.Output = tail(string(log), outputLines)
		if len(refused.Output) == 0 { // the driver never started
			refused.Output = tail(end.Job.Message, outputLines)
		}
	}
	refused.ReportPath = state.ReportPath
	return refused
}

// explainStop adds cause and next command for a job without findings that the gate stopped.
func explainStop(refused *refusal.Refusal, why follow.StopReason) {
	setting := ""
	switch why {
	case follow.AtDeadline:
		refused.Cause = "the job was still running: it needs more time, or it hangs"
		setting = "job.deadlineSeconds"
	case follow.WithoutProgress:
		refused.Cause = "the job ran and reported no new step: one step takes longer, or it hangs"
		setting = "job.noProgressSeconds"
	default:
		return
	}
	refused.Next = "look at the last step in driver.log, next to the report; for a job that needs more time " +
		"run `pulumi config set --path " + setting + " SECONDS`; otherwise fix the hang; then pulumi up"
}

// refuse returns a refusal for the most severe finding, with one line for each other code. code and
// next are the defaults.
func refuse(state State, code, summary, next string) *refusal.Refusal {
	refused := &refusal.Refusal{Code: code, Summary: summary, Next: next}
	lead, others := choose(state.Findings)
	if lead != nil {
		refused.Code, refused.Cause, refused.Evidence = lead.Code, lead.Cause, cite(*lead)
		refused.Next = cmp.Or(lead.Next, next)
	}
	refused.Also = others
	price := "an unknown price"
	if state.HourlyUSD > 0 {
		refused.HourlyUSD = &state.HourlyUSD
		price = fmt.Sprintf("$%.2f", state.HourlyUSD)
	}
	refused.Billing = price + " per hour until `pulumi destroy`"
	if state.Rehearsed {
		refused.Summary = "[rehearsed] " + refused.Summary
		refused.Billing = "nothing in a rehearsal; on AWS: " + refused.Billing
	}
	return refused
}

func statusText(state State, end follow.Outcome) string {
	switch {
	case end.StillActive:
		return fmt.Sprintf("%s, did not stop %s", end.Job.Status, stopText(state, end))
	case end.Stopped != "":
		return "stopped " + stopText(state, end)
	case end.Job.Status == "":
		return "not known to Ray"
	case end.Job.ExitCode != nil:
		return fmt.Sprintf("%s (exit status %d)", end.Job.Status, *end.Job.ExitCode)
	default:
		return string(end.Job.Status)
	}
}

// stopText returns when and why the gate stopped a job.
func stopText(state State, end follow.Outcome) string {
	switch end.Stopped {
	case follow.AtDeadline:
		return fmt.Sprintf("at its deadline of %d s", state.DeadlineSeconds)
	case follow.TooLongPending:
		return fmt.Sprintf("after it waited for %d s (job.pendingSeconds)", state.PendingSeconds)
	case follow.WithoutProgress:
		return fmt.Sprintf("after %d s without progress (job.noProgressSeconds)", state.NoProgressSeconds)
	case follow.Impossible:
		return "because it requests more GPUs than the cluster has"
	case follow.NotEFA:
		return fmt.Sprintf("after %d s, because it can no longer become efa (job.failFast)",
			int(end.Waited.Seconds()))
	default:
		return string(end.Stopped)
	}
}

// choose returns the first finding of the greatest severity, and one line for each other code.
func choose(findings []report.Finding) (lead *report.Finding, others []string) {
	for _, severity := range []report.Severity{report.Error, report.Warning} {
		i := slices.IndexFunc(findings, func(f report.Finding) bool { return f.Severity == severity })
		if i >= 0 && lead == nil {
			lead = &findings[i]
		}
	}
	if lead == nil {
		return nil, nil
	}
	codes := []string{lead.Code}
	for _, finding := range findings {
		if finding.Severity == report.Note || slices.Contains(codes, finding.Code) {
			continue
		}
		codes = append(codes, finding.Code)
		others = append(others, finding.Code+": "+cite(finding))
	}
	return lead, others
}

// cite returns a finding's text with its place.
func cite(f report.Finding) string {
	place := f.File
	if place != "" && f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	return strings.Join(slices.DeleteFunc([]string{place, f.Text}, func(s string) bool { return s == "" }), ": ")
}

// tail returns the last lines of a text that are not empty.
func tail(text string, count int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n\t"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-count):]
}
