package workloads

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// The operator's share of a system node; the chart's own limits.
const (
	operatorCPU    = "100m"
	operatorMemory = "512Mi"
)

// nvidiaValues are the settings of NVIDIA's chart that we change. Its required node affinity stays:
// it is met by the label nvidia.com/gpu.present on the node group.
type nvidiaValues struct {
	NodeSelector map[string]string `json:"nodeSelector"`
	// A list here replaces the chart's as a whole, so nothing of it may be left out.
	Tolerations []corev1.Toleration `json:"tolerations"`
}

// efaValues are the settings of the EFA chart that we change.
type efaValues struct {
	Image        imageValues       `json:"image"`
	NodeSelector map[string]string `json:"nodeSelector"`
	// The chart tolerates no GPU taint by itself.
	Tolerations []corev1.Toleration `json:"tolerations"`
	// On an allowed type without EFA interface the plugin crashes for ever
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

// eksRegistryAccount holds the images of EKS in most regions; the chart is hard-wired to the one in
// us-west-2.
// Source: EKS user guide, "View Amazon container image registries for Amazon EKS add-ons".
const eksRegistryAccount = "602401143452"

func newEFAValues(charts settings.Charts, in region.Region, instanceType string) efaValues {
	repository := charts.EFAImageRepository
	if repository == "" {
		repository = fmt.Sprintf("%s.dkr.ecr.%s.%s/eks/aws-efa-k8s-device-plugin",
			eksRegistryAccount, in, in.Domain())
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

func newKubeRayValues() kuberayValues {
	share := quantityValues{CPU: operatorCPU, Memory: operatorMemory}
	return kuberayValues{
		NodeSelector: map[string]string{cluster.RoleLabel: cluster.SystemRole},
		Resources:    resourceValues{Requests: share, Limits: share},
	}
}
