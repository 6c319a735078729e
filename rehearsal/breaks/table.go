package breaks

import "github.com/ray-train-efa/ray-train-efa/internal/overlay"

// Table lists the breaks: what people forget when they wire EFA on EKS.
func Table() []Break {
	return []Break{
		{
			Name: "no group on the interface",
			Edits: []overlay.Edit{{File: "cluster/template.go",
				Search: "\t\t\tSecurityGroups: pulumi.StringArray{control.securityGroupID, b.args.EFASecurityGroupID},\n", Replace: ""}},
			Phase: "nodes",
			Says:  []string{"never reach the API server: their interfaces lack the cluster's security group", "aws ec2 describe-instances"},
			Red:   "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			Name: "no EFA in the worker's requests",
			Edits: []overlay.Edit{{File: "workloads/raycluster.go",
				Search: "\t\tcluster.EFAResource:   *resource.NewQuantity(int64(shape.EFA), resource.DecimalSI),\n", Replace: ""}},
			Phase: "preflight",
			Says:  []string{"the worker does not request vpc.amazonaws.com/efa"},
			Red:   "TestWorkersTakeAllDevicesOfTheirNodes",
		},
		{
			Name:  "no gpu.present label on the GPU nodes",
			Edits: []overlay.Edit{{File: "cluster/nodegroups.go", Search: "\t\tGPUPresentLabel: pulumi.String(\"true\"),\n", Replace: ""}},
			Phase: "preflight",
			Says:  []string{"requires a label", "nvidia.com/gpu.present=true", "kubectl get daemonsets"},
			Red:   "TestGPUNodeGroup",
		},
		{
			Name: "no toleration in the EFA plugin",
			Edits: []overlay.Edit{{File: "workloads/values.go",
				Search: "\t\tTolerations:  []corev1.Toleration{gpuToleration()},\n", Replace: ""}},
			Phase: "preflight",
			Says:  []string{"lacks a toleration of the node's taint nvidia.com/gpu=present:NoSchedule"},
			Red:   "TestDevicePluginsReachGPUNodesAndNoOthers",
		},
		{
			Name: "no EFA interface in the launch template",
			Edits: []overlay.Edit{{File: "cluster/template.go",
				Search: "\t\t\tInterfaceType:       pulumi.String(string(nic.Type)),\n", Replace: ""}},
			Phase: "preflight",
			Says:  []string{"the launch template gave the instance no EFA interface"},
			Red:   "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			// With the check that refuses it in preview taken away, so that the
			// scheduler has to.
			Name: "a head of four CPUs",
			Edits: []overlay.Edit{
				{File: "internal/stack/stack.go", Search: "workloads.CheckHead(plan.System, s.Ray.HeadCPU, s.Ray.HeadMemory)", Replace: "error(nil)"},
				{File: "workloads/workloads.go", Search: "HeadCPU: b.args.Ray.HeadCPU,", Replace: `HeadCPU: "4",`},
			},
			Phase: "preflight",
			Says:  []string{"the Ray head requests 4 CPU, more than is free on any node", "pulumi config set --path ray.headCpu 3"},
			Red:   "TestHeadHasNoDevices",
		},
		{
			Name:  "GPU nodes in two zones",
			Edits: []overlay.Edit{{File: "cluster/nodegroups.go", Search: "\targs.AmiType = pulumi.String(gpuAMI)\n", Replace: "\targs.AmiType = pulumi.String(gpuAMI)\n\targs.SubnetIds = b.args.ControlPlaneSubnetIDs\n"}},
			Phase: "nodes",
			Says:  []string{"a cluster placement group, like EFA's traffic, stays within one", "aws eks describe-nodegroup"},
			Red:   "TestAllNodesShareOneSubnetInOneZone",
		},
	}
}
