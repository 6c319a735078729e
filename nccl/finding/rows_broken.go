package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// brokenRows contains the findings about broken traffic.
var brokenRows = map[Code]words{
	MemoryRegistrationFailed: {
		name: "memory-registration-failed", severity: report.Error,
		cause: "the plugin could not register memory: NCCL 2.19 or later needs EFA installer 1.29.1 " +
			"or later, or FI_EFA_SET_CUDA_SYNC_MEMOPS is 0",
		next: "update the EFA installer to 1.29.1 or later in the image, and unset " +
			"FI_EFA_SET_CUDA_SYNC_MEMOPS",
		how: "From NCCL 2.19 on, GPU buffers come from CUDA's virtual memory functions. Older EFA " +
			"software cannot register them, or is kept from it by FI_EFA_SET_CUDA_SYNC_MEMOPS=0.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_rdma.cpp", "AWS documentation, release notes of the EFA installer"},
	},
	RailsDiffer: {
		name: "remote-rails-differ", severity: report.Error,
		cause: "two ranks use different numbers of network devices for one connection: " +
			"OFI_NCCL_FORCE_NUM_RAILS differs, or the instance types do",
		next: "use one instance type in the job, and unset OFI_NCCL_FORCE_NUM_RAILS or set it to the " +
			"same value on all nodes",
		how: "The plugin stripes a connection over several devices (rails) and requires the same " +
			"number on both sides.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_rdma.cpp"},
	},
	TransferFailed: {
		name: "transfer-failed", severity: report.Error,
		cause: "a request failed: usually the security group blocks EFA traffic between the nodes (RC " +
			"20 and 103); otherwise the peer ended",
		next: "check that the security group of the EFA interfaces allows all traffic from and to " +
			"itself, in both directions; then read the peer's log at that time",
		how: "EFA sends over its own protocol, so that a security group which allows TCP may " +
			"still drop it. The first requests then fail or time out.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_sendrecv.cpp", "aws-ofi-nccl src/nccl_ofi_rdma.cpp", "aws-ofi-nccl#161"},
	},
	PeerUnreachable: {
		name: "peer-unreachable", severity: report.Error,
		cause: "a peer's address could not be reached or used",
		next: "check that the nodes reach each other: security groups and network policies, " +
			"NCCL_SOCKET_IFNAME, and that all nodes are in one subnet",
		how: "Printed where a TCP connection of NCCL fails, or where libfabric does not accept " +
			"the address of a peer.",
		sources: []string{"NCCL src/misc/socket.cc", "aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	MagicFlood: {
		name: "socket-magic-flood", severity: report.Error,
		cause: "a socket received data that is not from NCCL: the other rank uses another network, or " +
			"another program connects to the port",
		next: "give every rank the same NCCL_NET and one image; see the finding " +
			"two-networks-in-communicator",
		how: "Each NCCL socket begins with a fixed number and a type. A rank on another network, " +
			"or of another NCCL, sends something else.",
		sources: []string{"NCCL src/misc/socket.cc"},
	},
	TwoNetworks: {
		name: "two-networks-in-communicator", severity: report.Error,
		cause: "ranks of one communicator chose different networks; they cannot communicate, so the " +
			"job hangs or aborts",
		next: "give every rank the same NCCL_NET, NCCL_NET_PLUGIN and FI_PROVIDER and the same " +
			"image, then run again",
		how: "The plugin worked on some ranks and not on others, so that one side waits on EFA " +
			"and the other on sockets.",
		sources: []string{"NCCL src/init.cc", "nccl#1634"},
	},
	DeviceCountsDiffer: {
		name: "device-counts-differ", severity: report.Warning,
		cause: "ranks see different numbers of network devices",
		next: "compare `fi_info -p efa | grep -c domain` on each node; every node must have the " +
			"same EFA interfaces",
		how: "NCCL 2.30 compares the number of network devices over the ranks and by default only " +
			"prints a line.",
		sources: []string{"NCCL src/init.cc"},
	},
	RemoteLost: {
		name: "remote-lost", severity: report.Warning,
		cause:   "a peer closed its connection or timed out",
		next:    "find the rank that stopped first: its log contains the reason",
		how:     "The peer crashed, was killed, or timed out. This rank only reports it.",
		sources: []string{"NCCL src/misc/socket.cc"},
	},
}
