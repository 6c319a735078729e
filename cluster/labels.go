package cluster

// What node groups and pods agree on.
const (
	// RoleLabel distinguishes the two node groups.
	RoleLabel = "role"
	// SystemRole is RoleLabel's value on system nodes.
	SystemRole = "system"
	// GPURole is RoleLabel's value on GPU nodes.
	GPURole = "gpu-worker"
	// GPUPresentLabel is what NVIDIA's device plugin looks for where Node Feature Discovery does not
	// run. Without it its DaemonSet has no pod and no error
	// (https://github.com/NVIDIA/k8s-device-plugin/issues/708).
	GPUPresentLabel = "nvidia.com/gpu.present"
	// GPUTaint keeps everything off the GPU nodes that does not tolerate it.
	GPUTaint = "nvidia.com/gpu"
	// GPUTaintValue is the taint's value.
	GPUTaintValue = "present"
	// GPUResource is the extended resource of NVIDIA's device plugin.
	GPUResource = "nvidia.com/gpu"
	// EFAResource is the extended resource of the EFA device plugin.
	EFAResource = "vpc.amazonaws.com/efa"
)
