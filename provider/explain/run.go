package explain

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// runRows explains how a job and its update ended.
func runRows() []finding.Explanation {
	return []finding.Explanation{
		{
			Code: "ray-job-failed", Severity: report.Error,
			Meaning: "Ray ended the job before its command exited",
			How: "Ray could not start the command or lost the process that ran it. The " +
				"finding's text is Ray's message.",
			Next: "read driver.log next to the report, fix the cause, then start the job " +
				"again",
		},
		{
			Code: "job-failed-early", Severity: report.Error,
			Meaning: "the script failed before any rank communicated",
			How: "An error in the script or its imports ended it; no rank left an NCCL " +
				"log.",
			Next: "fix the error at the end of driver.log, next to the report",
		},
		{
			Code: "job-still-active", Severity: report.Error,
			Meaning: "the job did not end after it was stopped",
			How: "Ray or the script did not react to the stop. The job may still use the " +
				"GPUs.",
			Next: "restart the Ray head, then start the job again",
		},
		{
			Code: "job-impossible", Severity: report.Error,
			Meaning: "the job was stopped because it requested more GPUs than the cluster has",
			How: "A placement group or an actor of the script waits for GPUs that no node " +
				"will have: the node group has a fixed size.",
			Next: "request fewer GPUs in the script, or set gpu.nodes",
		},
		{
			Code: "stopped-early", Severity: report.Error,
			Meaning: "the job was stopped because its verdict could no longer become efa",
			How:     "A finding about its logs says what did not use EFA.",
			Next:    "fix the cause that the other findings name",
		},
		{
			Code: "deadline-passed", Severity: report.Error,
			Meaning: "the job was stopped at its deadline",
			How:     "Its ranks hang, or it needs more time.",
			Next: "read driver.log next to the report; use a longer --deadline if it only " +
				"needs more time",
		},
		{
			Code: "interrupted", Severity: report.Error,
			Meaning: "the update ended before the job was judged",
			How:     "It was canceled, ran out of time, or lost its connection to the cluster.",
			Next:    "pulumi up continues with a job that still runs",
		},
		{
			Code: "earlier-attempt-lost", Severity: report.Warning,
			Meaning: "an earlier attempt was not judged",
			How: "The Ray head restarted after the job was submitted, so the job and its " +
				"evidence are lost.",
			Next: "kubectl -n NAMESPACE describe pod -l ray.io/node-type=head (see Last " +
				"State)",
		},
		{
			Code: "ray-head-restarted", Severity: report.Error,
			Meaning: "Ray no longer knows the job",
			How: "The head restarted while the job ran, often because it ran out of " +
				"memory.",
			Next: "kubectl -n NAMESPACE describe pod -l ray.io/node-type=head (see Last " +
				"State)",
		},
		{
			Code: "earlier-try-off-efa", Severity: report.Warning,
			Meaning: "an earlier attempt of Ray Train did not use EFA",
			How: "Ray Train restarted the ranks. The last attempt decides the verdict; the " +
				"logs of earlier ones are judged separately.",
			Next: "raytrain verdict LOG..., with those files from the folder ranks/ next to " +
				"the report",
		},
		{
			Code: "state-contradicted", Severity: report.Error,
			Meaning: "the stack's state contradicts itself or the attempt's record in the " +
				"cluster",
			How: "The state was edited or restored, or the record was deleted, so that the " +
				"state proves nothing.",
			Next: "pulumi up (runs a new attempt)",
		},
	}
}
