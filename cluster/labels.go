package cluster

// Labels, taints and resources that node groups and pods share.
const (
	// RoleLabel distinguishes the two node groups.
	RoleLabel = "role"
	// SystemRole is RoleLabel's value on system nodes.
	SystemRole = "system"
	// GPURole is RoleLabel's value on GPU nodes.
	GPURole = "gpu-worker"
	// GPUPresentLabel is the node label that NVIDIA's device plugin requires when Node Feature
	// Discovery is not installed. Without the label the DaemonSet runs no pod and reports no error
	// (https://github.com/NVIDIA/k8s-device-plugin/issues/708).
	GPUPresentLabel = "nvidia.com/gpu.present"
	// GPUTaint is the key of the taint of the GPU nodes.
	GPUTaint = "nvidia.com/gpu"
	// GPUTaintValue is the taint's value.
	GPUTaintValue = "present"
	// GPUResource is the extended resource of NVIDIA's device plugin.
	GPUResource = "nvidia.com/gpu"
	// EFAResource is the extended resource of the EFA device plugin.
	EFAResource = "vpc.amazonaws.com/efa"
)
