package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// lookRows contains the findings that need a look.
var lookRows = map[Code]words{
	SeveralRuns: {
		name: "several-runs", severity: report.Warning,
		cause:   "the logs are from more than one run; the worst verdict is reported",
		next:    "judge one run at a time: one folder per submission",
		how:     "Some communicators in the logs have no process in common.",
		sources: []string{"DESIGN.md"},
	},
	StaleRun: {
		name: "stale-run", severity: report.Warning,
		cause: "two processes have the same rank of one communicator: logs of an earlier run are " +
			"among these",
		next:    "remove the older files; give each run its own folder",
		how:     "Files of an earlier run are in the same folder, or two runs share a communicator id.",
		sources: []string{"NCCL src/init.cc"},
	},
	TwoNCCLVersions: {
		name: "two-nccl-versions", severity: report.Warning,
		cause:   "processes of one run use different NCCL versions",
		next:    "run one image everywhere, by digest; look for a second libnccl.so on LD_LIBRARY_PATH",
		how:     "Two images, or two copies of libnccl.so in one image, are in use.",
		sources: []string{"nccl-tests#185"},
	},
	TwoPluginVersions: {
		name: "two-plugin-versions", severity: report.Warning,
		cause:   "processes of one run use different aws-ofi-nccl versions",
		next:    "run one image everywhere, by digest",
		how:     "Two images, or two copies of the plugin in one image, are in use.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	UnexplainedWarning: {
		name: "unexplained-warning", severity: report.Warning,
		cause:   "NCCL or its plugin printed a warning that raytrain has no explanation for",
		next:    "read the line; search for it in the issues of NVIDIA/nccl and aws/aws-ofi-nccl",
		how:     "The line is shown because a warning often explains later errors.",
		sources: []string{"NCCL src/debug.cc"},
	},
	HostsShareName: {
		name: "hosts-share-name", severity: report.Note,
		cause: "fewer host names than nodes: hosts share a name, so that every NET channel counts " +
			"as traffic between nodes",
		next: "give each node its own host name for a clearer report",
		how: "gethostname() returns the same on several machines, as in images with a fixed host " +
			"name.",
		sources: []string{"nccl-tests#188"},
	},
	GDRAbsent: {
		name: "gdr-absent", severity: report.Note,
		cause: "channels over EFA do not use GPUDirect RDMA; g4dn, g5 and g6 have none, p4d and " +
			"later should",
		next:    "on p4d or later check `fi_info -p efa -c FI_HMEM` and the EFA driver",
		how:     "The channel lines have no /GDRDMA. On g4dn, g5 and g6 that is normal.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	FewerDevices: {
		name: "fewer-devices", severity: report.Warning,
		cause: "the plugin found more EFA devices than the channels use",
		next: "check filters such as NCCL_IB_HCA, the topology file, and that one process does not " +
			"hide GPUs from NCCL",
		how:     "The plugin printed a larger number of devices than the channels name.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	UnbalancedChannels: {
		name: "unbalanced-channels", severity: report.Note,
		cause: "some ranks open far more inter-node channels than others",
		next: "expected with one EFA device per node; else compare the nodes' topologies " +
			"(NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH)",
		how:     "NCCL's topology search sends more channels through some GPUs than through others.",
		sources: []string{"NCCL src/graph/"},
	},
	UnusedCommunicator: {
		name: "unused-communicator", severity: report.Note,
		cause: "no rank used the communicator",
		next:  "nothing to do: it carried no traffic",
		how: "Frameworks create communicators that they do not use, such as one for the whole world in " +
			"addition to the groups.",
		sources: []string{"NCCL src/init.cc"},
	},
	RCCL: {
		name: "rccl", severity: report.Note,
		cause:   "these are lines of RCCL or another fork of NCCL",
		next:    "read the verdict with care: the fork's lines may differ",
		how:     "Forks of NCCL print \"NCCL INFO\" too.",
		sources: []string{"NCCL src/debug.cc"},
	},
}
