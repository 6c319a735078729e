package explain

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// preflightRows explains what the preflight finds before a job is submitted, in the order of the checks.
func preflightRows() []finding.Explanation {
	return []finding.Explanation{
		{
			Code: "gpu-nodes-missing", Severity: report.Error,
			Meaning: "fewer nodes of the GPU type have joined the cluster than the settings " +
				"ask for",
			How: "AWS has no capacity in the zone, a quota is too small, or instances " +
				"started and did not join.",
			Next: "kubectl get nodes -L node.kubernetes.io/instance- " +
				"type,topology.kubernetes.io/zone",
		},
		{
			Code: "node-not-ready", Severity: report.Error,
			Meaning: "a GPU node is not Ready",
			How: "The kubelet does not report its status while the node starts, when it " +
				"has no network, or when it is overloaded.",
			Next: "kubectl describe node NODE",
		},
		{
			Code: "gpu-device-missing", Severity: report.Error,
			Meaning: "a node offers fewer nvidia.com/gpu devices than its instance type has",
			How: "NVIDIA's device plugin does not run on the node, or the driver or the " +
				"AMI does not match the instance.",
			Next: "kubectl describe node NODE, and the logs of the device plugin's pod on " +
				"it",
		},
		{
			Code: "ray-pods-missing", Severity: report.Error,
			Meaning: "the RayCluster does not have one head pod and the required worker pods",
			How: "The KubeRay operator has not created the pods yet, is replacing them, or " +
				"is refused by Kubernetes.",
			Next: "kubectl -n NAMESPACE describe raycluster NAME",
		},
		{
			Code: "efa-not-requested", Severity: report.Error,
			Meaning: "a worker pod requests fewer EFA devices than required",
			How: "A container sees only the devices that it requests, so NCCL would find " +
				"no EFA in the pod.",
			Next: "add vpc.amazonaws.com/efa to the requests and limits of the worker's " +
				"container",
		},
		{
			Code: "ray-pod-not-ready", Severity: report.Error,
			Meaning: "a pod of the RayCluster is not ready",
			How: "It waits for a node with free devices, for its image, or for the head; " +
				"or its container fails.",
			Next: "kubectl -n NAMESPACE describe pod POD",
		},
		{
			Code: "pod-outdated", Severity: report.Error,
			Meaning: "a pod was not created from the current template of the RayCluster",
			How: "KubeRay keeps existing pods when its own version changes in the same " +
				"update.",
			Next: "kubectl -n NAMESPACE delete pod POD; KubeRay creates it again",
		},
		{
			Code: "image-unknown", Severity: report.Error,
			Meaning: "a ready pod's status has no image digest",
			How: "The container runtime did not report the image, so it cannot be compared " +
				"with the required digest.",
			Next: "kubectl -n NAMESPACE describe pod POD",
		},
		{
			Code: "image-digest-mismatch", Severity: report.Error,
			Meaning: "a pod runs another image than the settings require",
			How:     "KubeRay keeps existing pods when only their template changes.",
			Next:    "kubectl -n NAMESPACE delete pod POD; KubeRay creates it again",
		},
		{
			Code: "ray-unreachable", Severity: report.Error,
			Meaning: "Ray's dashboard on the head cannot be reached",
			How: "The dashboard process has ended, or the API server cannot forward a " +
				"connection to the head's pod.",
			Next: "kubectl -n NAMESPACE logs HEAD-POD",
		},
		{
			Code: "ray-unauthorized", Severity: report.Error,
			Meaning: "the head rejects the token of the RayCluster's Secret",
			How:     "A head reads the token when it starts; the Secret changed later.",
			Next:    "kubectl -n NAMESPACE delete pod HEAD-POD; the new head reads the Secret",
		},
		{
			Code: "ray-nodes-missing", Severity: report.Error,
			Meaning: "Ray has fewer live workers with GPUs than required",
			How: "Workers have not joined the head, or joined without GPUs. The RayCluster " +
				"is shown as ready even so.",
			Next: "kubectl -n NAMESPACE exec HEAD-POD -- ray status",
		},
		{
			Code: "fi-info-no-efa", Severity: report.Warning,
			Meaning: "libfabric finds no EFA device in a worker pod",
			How: "The pod has no /dev/infiniband device, or libfabric has no efa provider. " +
				"It is an error when the settings require fi_info.",
			Next: "kubectl -n NAMESPACE exec POD -- sh -c 'fi_info -p efa; ls -l " +
				"/dev/infiniband'",
		},
		{
			Code: "fi-info-unknown", Severity: report.Note,
			Meaning: "fi_info gave no result in a worker pod",
			How: "The image has no fi_info, or the command could not be run. It is an " +
				"error when the settings require fi_info.",
			Next: "kubectl -n NAMESPACE exec POD -- fi_info -p efa",
		},
		{
			Code: "image-cuda-unknown", Severity: report.Error,
			Meaning: "torch reported no CUDA version",
			How: "The image has a build of torch without CUDA, or torch cannot be " +
				"imported, so the driver cannot be checked.",
			Next: "kubectl -n NAMESPACE exec POD -- python -c 'import torch; " +
				"print(torch.version.cuda)'",
		},
		{
			Code: "driver-unknown", Severity: report.Error,
			Meaning: "nvidia-smi printed no driver version",
			How:     "The pod has no GPU, or the command could not be run in it.",
			Next:    "kubectl -n NAMESPACE exec POD -- nvidia-smi",
		},
		{
			Code: "driver-too-old", Severity: report.Error,
			Meaning: "the NVIDIA driver is too old for the image's CUDA version",
			How: "The driver belongs to the node's AMI, and CUDA to the image. KubeRay " +
				"replaces the image's entrypoint, which would otherwise load CUDA's " +
				"compatibility libraries.",
			Next: "pulumi config set --path gpu.amiRelease RELEASE, with a newer release, " +
				"then pulumi up",
		},
	}
}
