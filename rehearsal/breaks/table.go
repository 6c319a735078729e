package breaks

import "github.com/ray-train-efa/ray-train-efa/internal/mistake"

// Declared resources that breaks change.
const (
	launchTemplate = "aws:ec2/launchTemplate:LaunchTemplate"
	nodeGroup      = "aws:eks/nodeGroup:NodeGroup"
	eksCluster     = "eks:index:Cluster"
	release        = "kubernetes:helm.sh/v3:Release"
	rayCluster     = "kubernetes:ray.io/v1:RayCluster"
)

// Paths of containers' resources in the RayCluster.
const (
	headResources   = "spec.headGroupSpec.template.spec.containers[0].resources"
	workerResources = "spec.workerGroupSpecs[0].template.spec.containers[0].resources"
)

// drop removes an input of a declared resource.
func drop(token, name, path string) mistake.Change {
	return mistake.Change{Type: token, Name: name, Path: path}
}

// set replaces an input of a declared resource.
func set(token, name, path string, value any) mistake.Change {
	return mistake.Change{Type: token, Name: name, Path: path, Value: value}
}

// Table returns common mistakes in configuring EFA on EKS.
func Table() []Break {
	return []Break{
		{
			Name: "no group on the interface",
			Changes: []mistake.Change{
				drop(launchTemplate, "gpu", "networkInterfaces[0].securityGroups"),
			},
			Phase: "nodes",
			Says: []string{
				"do not reach the API server: their interfaces lack the cluster's security group",
				"aws ec2 describe-instances",
			},
			FailingTests: "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			Name: "no EFA in the worker's requests",
			Changes: []mistake.Change{
				drop(rayCluster, "train", workerResources+`.limits["vpc.amazonaws.com/efa"]`),
				drop(rayCluster, "train", workerResources+`.requests["vpc.amazonaws.com/efa"]`),
			},
			Phase:        "preflight",
			Says:         []string{"the worker does not request vpc.amazonaws.com/efa"},
			FailingTests: "TestWorkersTakeAllDevicesOfTheirNodes",
		},
		{
			Name:    "no gpu.present label on the GPU nodes",
			Changes: []mistake.Change{drop(nodeGroup, "gpu", `labels["nvidia.com/gpu.present"]`)},
			Phase:   "preflight",
			Says: []string{
				"requires a label",
				"nvidia.com/gpu.present=true",
				"kubectl get daemonsets",
			},
			FailingTests: "TestGPUNodeGroup",
		},
		{
			Name: "no toleration in the EFA plugin",
			Changes: []mistake.Change{
				drop(release, "aws-efa-k8s-device-plugin", "values.tolerations"),
			},
			Phase: "preflight",
			Says: []string{
				"lacks a toleration of the node's taint nvidia.com/gpu=present:NoSchedule",
			},
			FailingTests: "TestDevicePluginsReachGPUNodesAndNoOthers",
		},
		{
			Name: "no EFA interface in the launch template",
			Changes: []mistake.Change{
				drop(launchTemplate, "gpu", "networkInterfaces[0].interfaceType"),
			},
			Phase:        "preflight",
			Says:         []string{"the launch template gave the instance no EFA interface"},
			FailingTests: "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			// The check in preview does not see this change.
			Name: "a head of four CPUs",
			Changes: []mistake.Change{
				set(rayCluster, "train", headResources+".limits.cpu", "4"),
				set(rayCluster, "train", headResources+".requests.cpu", "4"),
			},
			Phase: "preflight",
			Says: []string{
				"the Ray head requests 4 CPU, more than is free on any node",
				"pulumi config set --path ray.headCpu 3",
			},
			FailingTests: "TestHeadHasNoDevices",
		},
		{
			Name: "GPU nodes in two zones",
			Changes: []mistake.Change{{
				Type: nodeGroup, Name: "gpu", Path: "subnetIds",
				From: &mistake.Source{Type: eksCluster, Name: "eks"},
			}},
			Phase: "nodes",
			Says: []string{
				"a cluster placement group, like EFA traffic, stays within one zone",
				"aws eks describe-nodegroup",
			},
			FailingTests: "TestAllNodesShareOneSubnetInOneZone",
		},
	}
}
