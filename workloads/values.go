package workloads

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// Requests and limits of the operator, as in the chart's defaults.
const (
	operatorCPU    = "100m"
	operatorMemory = "512Mi"
)

// nvidiaValues are the settings of NVIDIA's chart that we change. Its required node affinity stays:
// it is met by the label nvidia.com/gpu.present on the node group.
type nvidiaValues struct {
	NodeSelector map[string]string `json:"nodeSelector"`
	// This list replaces the chart's list, so it must be complete.
	Tolerations []corev1.Toleration `json:"tolerations"`
}

// efaValues are the settings of the EFA chart that we change.
type efaValues struct {
	Image        imageValues       `json:"image"`
	NodeSelector map[string]string `json:"nodeSelector"`
	// The chart does not tolerate the GPU taint.
	Tolerations []corev1.Toleration `json:"tolerations"`
	// On an allowed type without an EFA interface the plugin crashes repeatedly
	// (https://github.com/aws/eks-charts/issues/1239), so only the chosen type is allowed.
	SupportedInstanceLabels instanceLabels `json:"supportedInstanceLabels"`
}

type imageValues struct {
	Repository string `json:"repository"`
}

type instanceLabels struct {
	Keys   []string `json:"keys"`
	Values []string `json:"values"`
}

// kuberayValues are the settings of KubeRay's chart that we change.
type kuberayValues struct {
	NodeSelector map[string]string `json:"nodeSelector"`
	Resources    resourceValues    `json:"resources"`
	// Together these give the operator roles in the watched namespaces only.
	SingleNamespaceInstall bool     `json:"singleNamespaceInstall"`
	WatchNamespace         []string `json:"watchNamespace"`
}

type resourceValues struct {
	Requests quantityValues `json:"requests"`
	Limits   quantityValues `json:"limits"`
}

type quantityValues struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

func newNVIDIAValues() nvidiaValues {
	return nvidiaValues{
		NodeSelector: map[string]string{cluster.RoleLabel: cluster.GPURole},
		Tolerations:  []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}, gpuToleration()},
	}
}

// newEFAValues uses EKS's registry of the region: the chart always uses that of us-west-2.
func newEFAValues(charts settings.Charts, in region.Region, instanceType string) efaValues {
	repository := charts.EFAImageRepository
	if repository == "" {
		repository = fmt.Sprintf("%s.dkr.ecr.%s.%s/eks/aws-efa-k8s-device-plugin",
			in.RegistryAccount(), in, in.Domain())
	}
	return efaValues{
		Image:        imageValues{Repository: repository},
		NodeSelector: map[string]string{cluster.RoleLabel: cluster.GPURole},
		Tolerations:  []corev1.Toleration{gpuToleration()},
		SupportedInstanceLabels: instanceLabels{
			Keys: []string{corev1.LabelInstanceTypeStable}, Values: []string{instanceType},
		},
	}
}

// newKubeRayValues lets the operator act in one namespace: it may create pods and read secrets.
func newKubeRayValues(namespace string) kuberayValues {
	share := quantityValues{CPU: operatorCPU, Memory: operatorMemory}
	return kuberayValues{
		NodeSelector: map[string]string{cluster.RoleLabel: cluster.SystemRole},
		Resources:    resourceValues{Requests: share, Limits: share},

		SingleNamespaceInstall: true,
		WatchNamespace:         []string{namespace},
	}
}
