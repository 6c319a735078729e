package breaks

// Table lists the breaks: what people forget when they wire EFA on EKS.
func Table() []Break {
	return []Break{
		{
			Name: "no group on the interface",
			Edits: []Edit{{"cluster/template.go",
				"\t\t\tSecurityGroups: pulumi.StringArray{control.securityGroupID, b.args.EFASecurityGroupID},\n", ""}},
			Phase: "nodes",
			Says:  []string{"never reach the API server: their interfaces lack the cluster's security group", "aws ec2 describe-instances"},
			Red:   "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			Name: "no EFA in the worker's requests",
			Edits: []Edit{{"workloads/raycluster.go",
				"\t\tcluster.EFAResource:   *resource.NewQuantity(int64(shape.EFA), resource.DecimalSI),\n", ""}},
			Phase: "preflight",
			Says:  []string{"the worker does not request vpc.amazonaws.com/efa"},
			Red:   "TestWorkersTakeAllDevicesOfTheirNodes",
		},
		{
			Name:  "no gpu.present label on the GPU nodes",
			Edits: []Edit{{"cluster/nodegroups.go", "\t\tGPUPresentLabel: pulumi.String(\"true\"),\n", ""}},
			Phase: "preflight",
			Says:  []string{"wants a label", "nvidia.com/gpu.present=true", "kubectl get daemonsets"},
			Red:   "TestGPUNodeGroup",
		},
		{
			Name: "no toleration in the EFA plugin",
			Edits: []Edit{{"workloads/values.go",
				"\t\tTolerations:  []corev1.Toleration{gpuToleration()},\n", ""}},
			Phase: "preflight",
			Says:  []string{"lacks a toleration of the node's taint nvidia.com/gpu=present:NoSchedule"},
			Red:   "TestDevicePluginsReachGPUNodesAndNoOthers",
		},
		{
			Name: "no EFA interface in the launch template",
			Edits: []Edit{{"cluster/template.go",
				"\t\t\tInterfaceType:       pulumi.String(string(nic.Type)),\n", ""}},
			Phase: "preflight",
			Says:  []string{"the launch template gave the instance no EFA interface"},
			Red:   "TestGPUInterfacesAreEFAInBothGroups",
		},
		{
			// With the check that refuses it in preview taken away, so that the
			// scheduler has to.
			Name: "a head of four CPUs",
			Edits: []Edit{
				{"workloads/workloads.go", "CheckHead(args.SystemType, args.Ray.HeadCPU, args.Ray.HeadMemory)", "error(nil)"},
				{"workloads/workloads.go", "HeadCPU: b.args.Ray.HeadCPU,", `HeadCPU: "4",`},
			},
			Phase: "preflight",
			Says:  []string{"the Ray head asks for 4 CPU, which no node that may take it has free", "pulumi config set --path ray.headCpu 3"},
			Red:   "TestHeadHasNoDevices",
		},
		{
			Name: "GPU nodes in two zones",
			Edits: []Edit{{"cluster/nodegroups.go", "\targs.AmiType = pulumi.String(gpuAMI)\n",
				"\targs.AmiType = pulumi.String(gpuAMI)\n\targs.SubnetIds = b.args.ControlPlaneSubnetIDs\n"}},
			Phase: "nodes",
			Says:  []string{"a cluster placement group, like EFA's traffic, stays within one", "aws eks describe-nodegroup"},
			Red:   "TestAllNodesShareOneSubnetInOneZone",
		},
	}
}
