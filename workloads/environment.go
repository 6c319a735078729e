package workloads

import "maps"

// PluginName is NCCL's name for the network of aws-ofi-nccl 1.13 and later. Older releases are
// named "AWS Libfabric".
const PluginName = "Libfabric"

// Environment returns the NCCL and libfabric variables of the workers with the stack's overrides.
// An empty override removes a variable.
func Environment(overrides map[string]string) map[string]string {
	env := map[string]string{
		// Without this libfabric may choose TCP and report success.
		"FI_PROVIDER": "efa",
		// The plugin's library, libnccl-net-ofi.so.
		"NCCL_NET_PLUGIN": "ofi",
		// With this NCCL aborts instead of silently falling back to sockets.
		"NCCL_NET": PluginName,
		// The interface of pods on EKS. It carries bootstrap traffic only.
		"NCCL_SOCKET_IFNAME": "eth0",
		// Prints the lines that the verdict needs. NCCL_DEBUG_SUBSYS stays unset: its default prints all
		// of them.
		"NCCL_DEBUG": "INFO",
	}
	maps.Copy(env, overrides)
	maps.DeleteFunc(env, func(_, value string) bool { return value == "" })
	return env
}
