package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// pluginRows contains the findings about the network plugin, which usually explain the rest.
var pluginRows = map[Code]words{
	PluginNotFound: {
		name: "plugin-not-found", severity: report.Error,
		cause: "NCCL could not find the network plugin's library (aws-ofi-nccl)",
		next: "run `ls /opt/amazon/ofi-nccl/lib*/libnccl-net*.so` in the image, add that folder to " +
			"LD_LIBRARY_PATH, and set NCCL_NET_PLUGIN=ofi",
		how: "NCCL looks for libnccl-net.so, or the name in NCCL_NET_PLUGIN, when a process creates " +
			"its first communicator. Without it NCCL uses its own networks, InfiniBand or sockets, and " +
			"reports it only in this line.",
		sources: []string{"NCCL src/plugin/net.cc and src/plugin/plugin_open.cc (src/net.cc in old releases)"},
	},
	PluginLoadError: {
		name: "plugin-load-error", severity: report.Error,
		cause: "the network plugin's library was found but could not be loaded: a library it needs " +
			"is absent or too old",
		next: "run `ldd` on the plugin's library in the image and install what is missing " +
			"(libfabric.so, libhwloc.so, a newer glibc)",
		how: "The loader found the plugin but could not load it: a library that it links to is absent " +
			"or too old. NCCL continues with its own networks.",
		sources: []string{"NCCL src/plugin/net.cc and src/plugin/plugin_open.cc (src/net.cc in old releases)"},
	},
	LibfabricTooOld: {
		name: "libfabric-too-old", severity: report.Error,
		cause: "the libfabric in use is older than the plugin needs for EFA",
		next: "run `fi_info --version` in the image and put the EFA installer's libfabric " +
			"(/opt/amazon/efa/lib) first on LD_LIBRARY_PATH",
		how: "An older libfabric, often the distribution's, comes first on the library path and " +
			"hides the one of the EFA installer. The plugin fails after it has selected efa.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp", "aws-ofi-nccl#715"},
	},
	GetinfoFailed: {
		name: "fi-getinfo-failed", severity: report.Error,
		cause: "libfabric could not list its providers, usually because the container has no " +
			"/dev/infiniband",
		next: "request vpc.amazonaws.com/efa in the pod (or --device /dev/infiniband with docker), " +
			"then run `fi_info -p efa` in it",
		how: "The plugin asks libfabric for providers with fi_getinfo(). With FI_PROVIDER=efa and " +
			"no EFA device in the container the call fails with \"No data available\".",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp", "libfabric fi_getinfo(3)"},
	},
	EFADeviceMissing: {
		name: "efa-device-missing", severity: report.Error,
		cause: "only EFA was acceptable and no EFA device was visible to the process",
		next: "request vpc.amazonaws.com/efa in the pod, check `kubectl get ds -A | grep efa` and " +
			"that /dev/infiniband/uverbs0 exists in it",
		how: "FI_PROVIDER=efa, or the platform filter of the AWS build, leaves EFA as the only " +
			"acceptable provider, and libfabric found no device of it: the pod did not request " +
			"one, or the device plugin does not run on the node. The preflight reports a node that " +
			"offers fewer devices than required.",
		sources: []string{"aws-ofi-nccl src/platform-aws.cpp", "aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	NoEligibleProvider: {
		name: "no-eligible-provider", severity: report.Error,
		cause: "the plugin loaded, but libfabric offered no provider that it could use",
		next: "run `fi_info -p efa` in the pod; check FI_PROVIDER and the pod's " +
			"vpc.amazonaws.com/efa request",
		how: "The plugin's first protocol found no provider that meets its needs. A second " +
			"attempt with the other protocol may still succeed; the finding is left out when it " +
			"does.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	GDRRefused: {
		name: "gdr-refused", severity: report.Error,
		cause: "GPUDirect RDMA was expected on this instance type and could not be used; the plugin " +
			"then fails to create endpoints",
		next: "run `fi_info -p efa -t FI_EP_RDM -c FI_HMEM`: it must list a device; if not, " +
			"install the EFA driver with GPUDirect support (`modinfo efa | grep gdr`)",
		how: "On p4d and later the plugin requires GPU memory support (FI_HMEM) of the provider. " +
			"Without it the plugin prints this line and fails when it creates the first endpoint, so that " +
			"later errors name the endpoint.",
		sources: []string{"aws-ofi-nccl src/platform-aws.cpp", "aws-ofi-nccl#889"},
	},
	EndpointFailed: {
		name: "endpoint-failed", severity: report.Error,
		cause: "the plugin could not create a libfabric endpoint on the device",
		next: "check that no other pod holds the device, `ulimit -l` is unlimited, and hugepages " +
			"are off (FI_EFA_USE_HUGE_PAGE=0)",
		how: "libfabric could not create or enable an endpoint on the device. Read the line before it: " +
			"a failed GPUDirect check looks the same.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp", "aws-ofi-nccl src/nccl_ofi_sendrecv.cpp"},
	},
	QueueFailed: {
		name: "completion-queue-failed", severity: report.Error,
		cause: "the plugin could not open a fabric, domain, completion queue or address vector",
		next: "check `ulimit -l` (locked memory) and the number of processes that share the " +
			"device, then read `fi_info -p efa`",
		how: "The plugin opens a fabric, a domain, a completion queue and an address vector on " +
			"each device. Too little locked memory, or too many processes on one device, makes " +
			"one of them fail.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	PluginInitFailed: {
		name: "plugin-init-failed", severity: report.Error,
		cause: "the network plugin did not initialize; NCCL then tries its own networks",
		next:  "read the WARN lines before it, and set NCCL_NET=Libfabric, so that the job fails instead",
		how: "Every protocol of the plugin failed. NCCL ignores the plugin and chooses InfiniBand " +
			"or sockets, unless NCCL_NET names the plugin.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	ProviderFailedLater: {
		name: "provider-failed-later", severity: report.Error,
		cause: "the provider efa was selected, and the plugin's initialization failed after it",
		next:  "read the WARN line named here; the selection alone proves nothing",
		how: "The provider line is printed early in the plugin's initialization. A failure after " +
			"it undoes the selection.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp", "aws-ofi-nccl#889"},
	},
	PinnedNetworkAbsent: {
		name: "pinned-network-absent", severity: report.Error,
		cause: "NCCL_NET names a network that could not be used, so NCCL stopped, as that setting " +
			"intends",
		next: "fix what the plugin findings name (no EFA device, no plugin); do not remove NCCL_NET",
		how: "With NCCL_NET set, NCCL accepts no other network and aborts where it would " +
			"otherwise change to sockets without notice.",
		sources: []string{"NCCL src/plugin/net.cc and src/plugin/plugin_open.cc (src/net.cc in old releases)"},
	},
	SocketInterfaceWrong: {
		name: "socket-interface-wrong", severity: report.Error,
		cause: "no interface matches NCCL_SOCKET_IFNAME, so ranks cannot find each other",
		next:  "set NCCL_SOCKET_IFNAME to an interface of the pod (eth0 on EKS; see `ip -br addr`)",
		how: "NCCL_SOCKET_IFNAME names an interface that the pod does not have, or no interface " +
			"is in the peer's subnet.",
		sources: []string{"NCCL src/misc/socket.cc", "NCCL src/bootstrap.cc"},
	},
	DuplicateGPU: {
		name: "duplicate-gpu", severity: report.Error,
		cause: "two ranks use the same GPU",
		next: "give each rank its own GPU: check CUDA_VISIBLE_DEVICES and the GPUs that each worker " +
			"requests",
		how:     "NCCL refuses a communicator in which two ranks of one host have the same bus id.",
		sources: []string{"NCCL src/init.cc"},
	},
	BootstrapOnLoopback: {
		name: "bootstrap-on-loopback", severity: report.Warning,
		cause: "NCCL bootstraps over a loopback or bridge interface, which other nodes cannot " +
			"reach: the wrong NCCL_SOCKET_IFNAME",
		next: "set NCCL_SOCKET_IFNAME to the interface that other nodes reach (eth0 on EKS)",
		how: "Bootstrap connects the ranks over TCP before any data is sent. Its interface is the " +
			"first that fits NCCL_SOCKET_IFNAME.",
		sources: []string{"NCCL src/bootstrap.cc"},
	},
}
