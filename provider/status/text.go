package status

import (
	"fmt"
	"io"
	"strings"
)

// Write writes the status as text of a few lines, whatever the size of the cluster.
func (s Status) Write(w io.Writer) error {
	var lines []string
	line := func(label, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-9s", label+":")+fmt.Sprintf(format, args...))
	}
	line("verdict", "%s", s.verdictText())
	if s.Job != nil {
		line("job", "%s", s.Job)
	}
	var gpus, efa int64
	ready := 0
	for _, node := range s.Nodes {
		gpus, efa = gpus+node.GPUs, efa+node.EFA
		if node.Ready {
			ready++
		}
	}
	line("nodes", "%d of %d GPU nodes ready, %d GPUs, %d EFA devices", ready, len(s.Nodes), gpus, efa)
	var waiting []string
	for _, pod := range s.Pods {
		if !pod.Ready {
			waiting = append(waiting, pod.Name+" "+pod.Phase)
		}
	}
	text := fmt.Sprintf("%d of %d ready", len(s.Pods)-len(waiting), len(s.Pods))
	if len(waiting) > 0 {
		text += ": " + strings.Join(waiting[:min(shownPods, len(waiting))], ", ")
	}
	line("pods", "%s", text)
	line("cost", "%s", s.costText())
	for _, problem := range s.Problems {
		line("problem", "%s", strings.Join(strings.Fields(problem), " "))
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// shownPods is how many pods that are not ready are named.
const shownPods = 4

func (s Status) verdictText() string {
	switch {
	case s.Passed:
		return string(s.Verdict)
	case s.Final:
		return string(s.Verdict) + " (did not pass)"
	case s.Job != nil:
		return string(s.Verdict) + " so far"
	default:
		return string(s.Verdict) + " (no job yet)"
	}
}

// String returns the job in one line.
func (j *Job) String() string {
	status := string(j.Status)
	if status == "" {
		status = "not known to Ray"
	}
	text := fmt.Sprintf("%s, attempt %d, %s", j.SubmissionID, j.Attempt, status)
	if j.Seconds != nil {
		text += fmt.Sprintf(", %d s", *j.Seconds)
	}
	if j.Progress != nil {
		text += ", " + j.Progress.String()
	}
	if j.Ranks != nil {
		text += fmt.Sprintf(", %d ranks in evidence", *j.Ranks)
	}
	return text
}

func (s Status) costText() string {
	switch {
	case s.HourlyUSD == nil:
		return "unknown (only a stack knows its price)"
	case s.SpentUSD == nil:
		return fmt.Sprintf("$%.2f an hour", *s.HourlyUSD)
	default:
		return fmt.Sprintf("$%.2f an hour, about $%.2f so far", *s.HourlyUSD, *s.SpentUSD)
	}
}
