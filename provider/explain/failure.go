package explain

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// failureRows explains what stopped a job, read from Kubernetes and Ray after it ended.
func failureRows() []finding.Explanation {
	return []finding.Explanation{
		{
			Code: "node-disk-full", Severity: report.Error,
			Meaning: "Kubernetes reports that a node's disk is full",
			How: "Images, logs or checkpoints filled the node's volume. Its pods cannot " +
				"write, and are evicted.",
			Next: "kubectl describe node NODE; a larger disk: pulumi config set --path " +
				"gpu.volumeGiB GIB",
		},
		{
			Code: "ray-node-died", Severity: report.Error,
			Meaning: "Ray lost a node while the job was running",
			How:     "The node's raylet or its machine stopped.",
			Next: "kubectl get nodes,pods -A -o wide; kubectl get events -A --sort- " +
				"by=.lastTimestamp",
		},
		{
			Code: "ray-actor-died", Severity: report.Error,
			Meaning: "actors of the job died",
			How: "Their process crashed or was killed, the node ran out of memory or was " +
				"lost, or Ray could not start them. The finding's cause says which.",
			Next: "read driver.log next to the report; kubectl -n NAMESPACE describe pods " +
				"-l ray.io/cluster=NAME",
		},
		{
			Code: "ray-pod-lost", Severity: report.Error,
			Meaning: "a pod that ran ranks of the job no longer exists",
			How:     "It was deleted or evicted while the job ran, or its node was lost.",
			Next:    "kubectl get nodes; kubectl -n NAMESPACE get events",
		},
		{
			Code: "ray-pod-failed", Severity: report.Error,
			Meaning: "Kubernetes ended a pod while the job ran",
			How: "The node was short of memory or disk, or was shut down. The finding's " +
				"text has the reason.",
			Next: "kubectl -n NAMESPACE describe pod POD",
		},
		{
			Code: "ray-container-died", Severity: report.Error,
			Meaning: "a container of the RayCluster ended while the job ran",
			How: "Its process crashed, or the container used more memory than its limit " +
				"(OOMKilled).",
			Next: "kubectl -n NAMESPACE describe pod POD; kubectl -n NAMESPACE logs POD " +
				"--previous",
		},
	}
}
