package explain

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// evidenceRows explains the files that a run left.
func evidenceRows() []finding.Explanation {
	return []finding.Explanation{
		{
			Code: "evidence-not-written", Severity: report.Error,
			Meaning: "this machine could not write the evidence",
			How:     "The evidence folder is not writable, so that there is no verdict.",
			Next:    "make job.evidenceDir writable, then pulumi up (judges the same job)",
		},
		{
			Code: "disk-full", Severity: report.Error,
			Meaning: "the disk of this machine is full",
			How: "The evidence could not be written, so that there is no verdict. It is " +
				"not a disk of the cluster.",
			Next: "df -h; free space, then pulumi up (judges the same job)",
		},
		{
			Code: "evidence-incomplete", Severity: report.Error,
			Meaning: "some files of the run could not be read completely",
			How: "A worker node was gone, the job left too many or too large files, or a " +
				"name was not the job's.",
			Next: "run the job again, while head and workers are running",
		},
		{
			Code: "no-ray-workers", Severity: report.Error,
			Meaning: "no Ray worker process of the job left a file",
			How: "The script started no Ray task, actor or Train worker. Processes that it " +
				"starts in another way leave no evidence.",
			Next: "read driver.log next to the report; start the ranks with Ray",
		},
		{
			Code: "nccl-unused", Severity: report.Error,
			Meaning: "no worker process wrote an NCCL log",
			How: "The ranks have no GPU or use another backend, such as gloo; or the " +
				"script sets NCCL_DEBUG or NCCL_DEBUG_FILE itself.",
			Next: "use the backend nccl on two nodes or more",
		},
		{
			Code: "manifest-invalid", Severity: report.Error,
			Meaning: "a manifest is not one of this run",
			How: "It is not JSON, has another run's or node's values, or has a rank " +
				"outside the job.",
			Next: "check which other program writes to Ray's log folder of this node",
		},
		{
			Code: "nccl-log-missing", Severity: report.Error,
			Meaning: "the NCCL log that a rank's manifest names is missing",
			How:     "NCCL_DEBUG is not INFO, or NCCL never started in the rank.",
			Next:    "set NCCL_DEBUG=INFO in the job's environment",
		},
		{
			Code: "nodes-not-spanned", Severity: report.Error,
			Meaning: "the ranks ran on another number of nodes than required",
			How: "Ray placed them differently, so the network between the nodes was not " +
				"used as required.",
			Next: "compare `ray status` with the expected GPUs of each node, then run the " +
				"job again",
		},
		{
			Code: "efa-counters-unreadable", Severity: report.Note,
			Meaning: "the EFA devices' traffic is unknown",
			How: "/sys/class/infiniband has no EFA counters in the pods, or a pod was " +
				"replaced. It is an error when the settings require counters.",
			Next: "kubectl exec WORKER-POD -- sh -c 'ls " +
				"/sys/class/infiniband/*/ports/1/hw_counters'",
		},
		{
			Code: "efa-counters-low", Severity: report.Error,
			Meaning: "the EFA devices transferred less than the job must have sent",
			How:     "Other devices carried the rest, whatever the logs say.",
			Next:    "raytrain verdict FOLDER, with the report's folder",
		},
	}
}
