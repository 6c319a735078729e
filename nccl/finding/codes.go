// Package finding names what the evidence can show: the codes of findings, their causes and next steps.
package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// Code names one thing that evidence can show. Its text form is the stable,
// kebab-case code of a Finding.
type Code uint8

// The finding codes, in the order in which findings are listed.
const (
	None Code = iota // no finding

	// What the traffic used.
	OtherNetwork
	ProviderNotEFA
	MixedTransports
	TwoNetworks
	NetworkMismatch
	MNNVLBetweenNodes
	UnknownTransport

	// What broke the network plugin.
	PluginNotFound
	PluginLoadError
	PinnedNetworkAbsent
	NoEligibleProvider
	EFADeviceMissing
	LibfabricTooOld
	EndpointFailed
	QueueFailed
	GDRRefused
	PluginInitFailed
	ProviderFailedLater
	SocketInterfaceWrong
	BootstrapOnLoopback

	// What broke the traffic.
	NeverConnected
	MagicFlood
	TransferFailed
	RemoteLost
	PeerUnreachable
	DeviceCountsDiffer

	// What is missing from the evidence.
	NoNCCLLines
	DebugTooLow
	SubsystemMask
	RankMissing
	NodeMissing
	NetworkUnknown
	ProviderUnknown
	NoTraffic
	NoInterNode
	PointToPointUnproven
	RayDeduplicated
	LogCut
	TornLines
	VersionTooOld
	InitIncomplete
	OneSided

	// What does not fit what was asked.
	WorldSizeMismatch
	NodesMismatch
	ProviderUnexpected
	SizeConflict

	// What needs a look.
	SeveralRuns
	StaleRun
	AttemptFailed
	TwoNCCLVersions
	TwoPluginVersions
	HostsShareName
	GDRAbsent
	FewerDevices
	UnbalancedChannels
	UnusedCommunicator
	RCCL

	// The lines that a verdict rests on.
	ProofProvider
	ProofNetwork
	ProofChannel
	ProofConnected

	codeCount
)

// String returns the stable name of the code.
func (c Code) String() string { return codeTable[c].name }

// Codes lists every finding code in listing order.
func Codes() []Code {
	all := make([]Code, 0, codeCount-1)
	for c := None + 1; c < codeCount; c++ {
		all = append(all, c)
	}
	return all
}

// Describe returns the code's severity, its cause and the next step.
func (c Code) Describe() (severity report.Severity, cause, next string) {
	row := codeTable[c]
	return row.severity, row.cause, row.next
}

// codeTable holds the words of each finding. The cause says why the line was
// printed; next is what to run or set.
var codeTable = [codeCount]struct {
	name     string
	severity report.Severity
	cause    string
	next     string
}{
	OtherNetwork: {"other-network", report.Error,
		"inter-node channels run over a network that is not EFA; NCCL falls back to it in silence",
		"pin NCCL_NET=Libfabric so that the next run aborts instead, and read the plugin findings of this report for the reason"},
	ProviderNotEFA: {"provider-not-efa", report.Error,
		"the plugin is in use, but over a libfabric provider other than efa: same NCCL lines, kernel TCP or another fabric below",
		"set FI_PROVIDER=efa, and run `fi_info -p efa` in the pod: it must list a device"},
	MixedTransports: {"mixed-transports", report.Error,
		"part of the inter-node traffic used EFA and part did not",
		"compare the ranks listed on each transport: one image, one environment and one EFA device request must hold for every node"},
	TwoNetworks: {"two-networks-in-communicator", report.Error,
		"ranks of one communicator chose different networks; they cannot talk, so the job hangs or aborts",
		"give every rank the same NCCL_NET, NCCL_NET_PLUGIN and FI_PROVIDER and the same image, then run again"},
	NetworkMismatch: {"channel-off-network", report.Error,
		"a channel names another network than the one its rank said it uses",
		"collect each rank's log in a file of its own (NCCL_DEBUG_FILE=/tmp/nccl.%h.%p) and judge those"},
	MNNVLBetweenNodes: {"mnnvl-between-nodes", report.Error,
		"ranks of different hosts are joined by multi-node NVLink, an inter-node transport that is not EFA",
		"set NCCL_MNNVL_ENABLE=0 to prove EFA, or accept NVLink and do not gate this job on EFA"},
	UnknownTransport: {"unknown-transport", report.Error,
		"a channel uses a transport that this version does not know, so it cannot say whether it crosses nodes",
		"update raytrain; a new form is one entry in nccl/internal/record/forms.go"},

	PluginNotFound: {"plugin-not-found", report.Warning,
		"NCCL could not find the network plugin's library (aws-ofi-nccl)",
		"run `ls /opt/amazon/ofi-nccl/lib*/libnccl-net*.so` in the image and put that folder on LD_LIBRARY_PATH; NCCL_NET_PLUGIN=ofi"},
	PluginLoadError: {"plugin-load-error", report.Error,
		"the network plugin's library was found but could not be loaded: a library it needs is absent or too old",
		"run `ldd` on the plugin's library in the image and install what is missing (libfabric.so, libhwloc.so, a newer glibc)"},
	PinnedNetworkAbsent: {"pinned-network-absent", report.Error,
		"NCCL_NET names a network that could not be used, so NCCL stopped: the fail-closed setting did its work",
		"fix what the plugin findings name (no EFA device, no plugin); do not remove NCCL_NET"},
	NoEligibleProvider: {"no-eligible-provider", report.Error,
		"the plugin loaded, but libfabric offered no provider that it could use",
		"run `fi_info -p efa` in the pod; check FI_PROVIDER and the pod's vpc.amazonaws.com/efa request"},
	EFADeviceMissing: {"efa-device-missing", report.Error,
		"only EFA was acceptable and no EFA device was visible to the process",
		"request vpc.amazonaws.com/efa in the pod, check `kubectl get ds -A | grep efa` and that /dev/infiniband/uverbs0 exists in it"},
	LibfabricTooOld: {"libfabric-too-old", report.Error,
		"the libfabric in use is older than the plugin needs for EFA",
		"run `fi_info --version` in the image and put the EFA installer's libfabric (/opt/amazon/efa/lib) first on LD_LIBRARY_PATH"},
	EndpointFailed: {"endpoint-failed", report.Error,
		"the plugin could not create a libfabric endpoint on the device",
		"check that no other pod holds the device, `ulimit -l` is unlimited, and hugepages are off (FI_EFA_USE_HUGE_PAGE=0)"},
	QueueFailed: {"completion-queue-failed", report.Error,
		"the plugin could not open a fabric, domain, completion queue or address vector",
		"check `ulimit -l` (locked memory) and the number of processes that share the device, then read `fi_info -p efa`"},
	GDRRefused: {"gdr-refused", report.Warning,
		"GPUDirect RDMA was expected on this instance type and could not be used",
		"install the EFA driver with GPUDirect support and check `modinfo efa | grep gdr`"},
	PluginInitFailed: {"plugin-init-failed", report.Error,
		"the network plugin did not initialise; NCCL then tries its own networks",
		"read the WARN lines before it, and pin NCCL_NET=Libfabric so that this stops the job"},
	ProviderFailedLater: {"provider-failed-later", report.Error,
		"the provider efa was selected, and the plugin's initialisation failed after it",
		"read the WARN line named here; the selection alone proves nothing"},
	SocketInterfaceWrong: {"socket-interface-wrong", report.Error,
		"no interface matches NCCL_SOCKET_IFNAME, so ranks cannot find each other",
		"set NCCL_SOCKET_IFNAME to an interface of the pod (eth0 on EKS; see `ip -br addr`)"},
	BootstrapOnLoopback: {"bootstrap-on-loopback", report.Warning,
		"NCCL bootstraps over a loopback or bridge interface although the run spans nodes: the wrong NCCL_SOCKET_IFNAME",
		"set NCCL_SOCKET_IFNAME to the interface that other nodes reach (eth0 on EKS)"},

	NeverConnected: {"never-connected", report.Error,
		"channels were set up and never connected: on EFA the usual reason is a security group without self-referencing egress",
		"check that the EFA security group allows all traffic from and to itself, in both directions; then look for a hang or crash of a peer"},
	MagicFlood: {"socket-magic-flood", report.Error,
		"a socket received bytes that no NCCL socket sends: the other rank runs another network",
		"give every rank the same NCCL_NET; see the two-networks finding"},
	TransferFailed: {"transfer-failed", report.Warning,
		"a request completed with an error: the peer went away, or the fabric dropped the connection",
		"read the peer's log at the same time; check the instances' status and the EFA counters (`rdma statistic`)"},
	RemoteLost: {"remote-lost", report.Warning,
		"a peer closed its connection or timed out",
		"find the rank that stopped first: its log holds the reason"},
	PeerUnreachable: {"peer-unreachable", report.Error,
		"a peer's address could not be reached or used",
		"check security groups (self ingress and egress), the subnet and that all nodes are in one placement group"},
	DeviceCountsDiffer: {"device-counts-differ", report.Warning,
		"ranks see different numbers of network devices",
		"compare `fi_info -p efa | grep -c domain` on each node; every node must have the same EFA interfaces"},

	NoNCCLLines: {"no-nccl-lines", report.Error,
		"the evidence holds no NCCL record at all",
		"set NCCL_DEBUG=INFO in every rank's environment and collect every rank's output"},
	DebugTooLow: {"debug-too-low", report.Error,
		"only NCCL's version or warnings were printed, none of the lines that prove a transport",
		"set NCCL_DEBUG=INFO (not VERSION or WARN) in every rank's environment"},
	SubsystemMask: {"subsystem-mask", report.Error,
		"NCCL_DEBUG_SUBSYS hides lines that the proof needs",
		"unset NCCL_DEBUG_SUBSYS, or include INIT, ENV and NET in it"},
	RankMissing: {"rank-missing", report.Error,
		"a rank of a communicator that spans nodes is not in evidence",
		"collect every rank's log: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p on each node, or the Ray workers' .out files of every node"},
	NodeMissing: {"node-missing", report.Error,
		"fewer hosts are in evidence than the communicator has nodes",
		"collect the logs of every node; with kubectl logs and a selector add --tail=-1 and --max-log-requests"},
	NetworkUnknown: {"network-unknown", report.Error,
		"a rank's `Using network` line is not in evidence",
		"set NCCL_DEBUG=INFO, leave NCCL_DEBUG_SUBSYS unset and keep the log from its first line"},
	ProviderUnknown: {"provider-unknown", report.Error,
		"no line says which libfabric provider a rank's plugin selected",
		"keep the log from its first line; aws-ofi-nccl 1.4 or later prints `Selected provider is`"},
	NoTraffic: {"no-traffic", report.Error,
		"a communicator spans nodes, but no rank opened a channel: nothing was sent",
		"let the job run a collective (one training step) before its logs are judged"},
	NoInterNode: {"no-inter-node-communicator", report.Error,
		"no communicator in evidence spans two nodes, so there is no inter-node traffic to judge",
		"run on at least two nodes and collect the logs of both"},
	PointToPointUnproven: {"point-to-point-unproven", report.Error,
		"point-to-point channels print no line once they are connected",
		"pass --completed if the job is known to have ended well"},
	RayDeduplicated: {"ray-deduplicated", report.Error,
		"Ray's log de-duplication hid NCCL lines of other ranks, and channel lines over EFA and sockets count as equal to it",
		"set RAY_DEDUP_LOGS=0, or judge the workers' own files below /tmp/ray/session_latest/logs"},
	LogCut: {"log-cut", report.Warning,
		"the log begins after NCCL's first lines or ends inside a record: rotated, truncated or killed",
		"collect the whole file; kubectl logs needs --tail=-1, and a container's log must not rotate within the run"},
	TornLines: {"torn-lines", report.Error,
		"channel lines are torn, and what they hid may be another transport",
		"give each rank its own file with NCCL_DEBUG_FILE=/tmp/nccl.%h.%p instead of one shared pipe"},
	VersionTooOld: {"nccl-too-old", report.Error,
		"NCCL before 2.6.4 does not print which network it uses",
		"use NCCL 2.18 or later"},
	InitIncomplete: {"init-incomplete", report.Warning,
		"a rank began to join a communicator and never finished",
		"look for a rank that is missing or failed: the others wait for it"},
	OneSided: {"one-sided-channels", report.Warning,
		"a rank sends on channels that no rank in evidence receives on, or the reverse",
		"collect both ends' logs in full"},

	WorldSizeMismatch: {"world-size-mismatch", report.Error,
		"the widest communicator has another number of ranks than was asked for",
		"check the number of workers and GPUs per worker, and that these are this run's logs"},
	NodesMismatch: {"nodes-mismatch", report.Error,
		"the run spans another number of nodes than was asked for",
		"check the number of nodes and pods, and that these are this run's logs"},
	ProviderUnexpected: {"provider-unexpected", report.Error,
		"the run used efa although another provider was expected",
		"drop --provider, or fix FI_PROVIDER"},
	SizeConflict: {"size-conflict", report.Error,
		"ranks disagree about the size of one communicator, or a rank is outside it",
		"judge one run's logs at a time"},

	SeveralRuns: {"several-runs", report.Warning,
		"the evidence holds more than one run; each was judged, and the worst decides",
		"judge one run at a time: one folder per submission"},
	StaleRun: {"stale-run", report.Warning,
		"two processes claim the same rank of one communicator: logs of an earlier run are among these",
		"remove the older files; give each run a folder of its own"},
	AttemptFailed: {"attempt-failed", report.Error,
		"a process failed before it joined any communicator",
		"read its WARN lines; judge only the last attempt's files"},
	TwoNCCLVersions: {"two-nccl-versions", report.Warning,
		"processes of one run use different NCCL versions",
		"run one image everywhere, by digest; look for a second libnccl.so on LD_LIBRARY_PATH"},
	TwoPluginVersions: {"two-plugin-versions", report.Warning,
		"processes of one run use different aws-ofi-nccl versions",
		"run one image everywhere, by digest"},
	HostsShareName: {"hosts-share-name", report.Note,
		"fewer host names than nodes: hosts share a name, so every NET channel counts as inter-node",
		"give each node a host name of its own for a clearer report"},
	GDRAbsent: {"gdr-absent", report.Note,
		"channels over EFA do not use GPUDirect RDMA; g4dn, g5 and g6 have none, p4d and later should",
		"on p4d or later check `fi_info -p efa -c FI_HMEM` and the EFA driver"},
	FewerDevices: {"fewer-devices", report.Warning,
		"the plugin found more EFA devices than the channels use",
		"check NCCL_IB_HCA-like filters, the topology file, and that one process does not hide GPUs from NCCL"},
	UnbalancedChannels: {"unbalanced-channels", report.Note,
		"some ranks open far more inter-node channels than others",
		"expected with one EFA device per node; else compare the nodes' topologies (NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH)"},
	UnusedCommunicator: {"unused-communicator", report.Note,
		"a communicator spans nodes, and no rank ever used it",
		"nothing to do: it carried no traffic"},
	RCCL: {"rccl", report.Note,
		"these are lines of RCCL or another fork of NCCL",
		"read the verdict with care: the fork's lines may differ"},

	ProofProvider: {"proof-provider", report.Note,
		"the libfabric provider that the plugin selected last", "nothing to do"},
	ProofNetwork: {"proof-network", report.Note,
		"the network that the communicator uses", "nothing to do"},
	ProofChannel: {"proof-channel", report.Note,
		"an inter-node channel and its transport", "nothing to do"},
	ProofConnected: {"proof-connected", report.Note,
		"the channels were connected", "nothing to do"},
}
