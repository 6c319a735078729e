package workloads

import "maps"

// PluginName is what NCCL calls the network of aws-ofi-nccl 1.13 and later. Older ones answer to
// "AWS Libfabric" only.
const PluginName = "Libfabric"

// Environment is what the workers' processes see of NCCL and libfabric, with the stack's overrides;
// an empty override takes the variable away.
func Environment(overrides map[string]string) map[string]string {
	env := map[string]string{
		// Without this libfabric may choose TCP and report success.
		"FI_PROVIDER": "efa",
		// The plugin's library, libnccl-net-ofi.so.
		"NCCL_NET_PLUGIN": "ofi",
		// The pin: NCCL aborts where it would otherwise fall back to sockets in silence.
		"NCCL_NET": PluginName,
		// The pod's interface in EKS; bootstrap traffic only.
		"NCCL_SOCKET_IFNAME": "eth0",
		// Prints the lines that the verdict rests on. NCCL_DEBUG_SUBSYS stays unset: its default prints
		// all of them.
		"NCCL_DEBUG": "INFO",
	}
	maps.Copy(env, overrides)
	maps.DeleteFunc(env, func(_, value string) bool { return value == "" })
	return env
}
