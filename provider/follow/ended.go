package follow

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// RayFailure returns the finding about a job that Ray ended before its command exited; none for another
// end. again is the command that runs the job again.
func (o Outcome) RayFailure(again string) []report.Finding {
	job := o.Job
	if job.Status != rayapi.Failed || job.ExitCode != nil || job.Message == "" {
		return nil
	}
	found := report.Finding{
		Code: "ray-job-failed", Severity: report.Error, Text: essence(job.Message),
		Cause: "Ray ended the job before its command exited",
		Next:  "read driver.log next to the report, fix the cause, then " + again,
	}
	if job.ErrorType == rayapi.RuntimeEnvFailed {
		found.Cause = "a node could not install the job's packages or unpack its files, so the command never ran"
		found.Next = "fix the requirements, or put the packages into the image, then " + again
	}
	return []report.Finding{found}
}

// essenceLength is how much of a message a finding shows at most, in bytes.
const essenceLength = 600

// essence returns the part of Ray's message that names the reason. Python's tracebacks have it at their
// end, and the output of pip after "ERROR:".
func essence(message string) string {
	words := strings.Join(strings.Fields(message), " ")
	if _, after, found := strings.Cut(words, "ERROR: "); found {
		words = after
	} else if before, trace, found := strings.Cut(words, "Traceback (most recent call last):"); found {
		words = strings.TrimSpace(before) + " ... " + trace[max(0, len(trace)-essenceLength/2):]
	}
	if len(words) > essenceLength {
		words = words[:essenceLength] + " ..."
	}
	return strings.ToValidUTF8(words, "")
}
