package finding

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// missingRows contains the findings about missing evidence.
var missingRows = map[Code]words{
	AttemptFailed: {
		name: "attempt-failed", severity: report.Error,
		cause: "a process failed before it joined any communicator",
		next:  "read its WARN lines; judge only the last attempt's files",
		how: "The logs contain a process that found no usable network, or chose one other than EFA, " +
			"and created no communicator. Such an attempt proves nothing.",
		sources: []string{"NCCL src/init.cc"},
	},
	NoNCCLLines: {
		name: "no-nccl-lines", severity: report.Error,
		cause:   "the logs contain no NCCL lines",
		next:    "set NCCL_DEBUG=INFO in every rank's environment and collect every rank's output",
		how:     "NCCL prints nothing unless NCCL_DEBUG is set.",
		sources: []string{"NCCL src/debug.cc"},
	},
	DebugTooLow: {
		name: "debug-too-low", severity: report.Error,
		cause: "only NCCL's version or warnings were printed, none of the lines that prove a " +
			"transport",
		next:    "set NCCL_DEBUG=INFO (not VERSION or WARN) in every rank's environment",
		how:     "NCCL_DEBUG=VERSION prints one line and WARN only errors.",
		sources: []string{"NCCL src/debug.cc"},
	},
	SubsystemMask: {
		name: "subsystem-mask", severity: report.Error,
		cause: "NCCL_DEBUG_SUBSYS hides NCCL's INIT lines, which the proof needs",
		next:  "unset NCCL_DEBUG_SUBSYS, or include INIT in it",
		how: "NCCL_DEBUG_SUBSYS replaces the default list of subsystems. The lines about networks, " +
			"communicators and connections belong to INIT.",
		sources: []string{"NCCL src/debug.cc"},
	},
	OneHost: {
		name: "one-host", severity: report.Error,
		cause: "the evidence does not show two hosts: traffic inside one host proves nothing about " +
			"the network between nodes",
		next: "run on two nodes; if these were two, give each its own host name, and keep the " +
			"Bootstrap line of every rank, which shows its address",
		how: "NCCL's nNodes counts entries of its ring, not hosts: with P2P and SHM off, one host " +
			"counts several times, and each NCCL_HOSTID counts as a host. Hosts are distinguished by " +
			"the address in the Bootstrap line and by name. Ranks with one address are on one host, " +
			"whatever their names; so are ranks that bootstrap on loopback, and ranks with one " +
			"NCCL_HOSTID.",
		sources: []string{"NCCL src/init.cc"},
	},
	HostsRedacted: {
		name: "hosts-removed", severity: report.Error,
		cause: "host names or processes were removed from the log, so that no rank can be proven",
		next: "judge the original log, or give each rank its own file: " +
			"NCCL_DEBUG_FILE=/tmp/nccl.%h.%p",
		how: "To prove EFA, the process of each line must be known. One channel over sockets is enough " +
			"to prove another network.",
		sources: []string{"NCCL src/debug.cc"},
	},
	RayDeduplicated: {
		name: "ray-deduplicated", severity: report.Error,
		cause: "Ray's log de-duplication hid NCCL lines of other ranks, and channel lines over EFA " +
			"and sockets count as equal to it",
		next: "set RAY_DEDUP_LOGS=0, or judge the workers' own files below " +
			"/tmp/ray/session_latest/logs",
		how: "Ray compares lines without the words that contain digits, so that a channel over " +
			"Libfabric and one over sockets are the same to it, and prints only one of them.",
		sources: []string{"Ray python/ray/_private/ray_logging"},
	},
	LogCut: {
		name: "log-cut", severity: report.Error,
		cause: "the log is an excerpt: it begins after NCCL's first lines, ends early, or contains " +
			"only some of its lines (rotated, truncated, killed, a tail or a grep)",
		next: "collect the whole file; kubectl logs needs --tail=-1, and a container's log must " +
			"not rotate within the run",
		how:     "Lines that every process prints are missing, although nothing hid them.",
		sources: []string{"NCCL src/init.cc", "NVIDIA/aicr#2331"},
	},
	TornLines: {
		name: "torn-lines", severity: report.Error,
		cause: "some channel lines are incomplete and may hide another transport",
		next: "give each rank its own file with NCCL_DEBUG_FILE=/tmp/nccl.%h.%p instead of one " +
			"shared pipe",
		how: "Several processes write to one pipe, in blocks, so that a line of one ends inside " +
			"another's.",
		sources: []string{"NCCL src/debug.cc"},
	},
	VersionTooOld: {
		name: "nccl-too-old", severity: report.Error,
		cause:   "NCCL before 2.6.4 does not print which network it uses",
		next:    "use NCCL 2.18 or later",
		how:     "`Using network` was added in NCCL 2.6.4.",
		sources: []string{"NCCL src/init.cc"},
	},
	NodeMissing: {
		name: "node-missing", severity: report.Error,
		cause: "fewer hosts are in evidence than the communicator has nodes",
		next: "collect the logs of every node; with kubectl logs and a selector add --tail=-1 and " +
			"--max-log-requests",
		how:     "The logs of a whole node were not collected.",
		sources: []string{"NCCL src/init.cc"},
	},
	RankMissing: {
		name: "rank-missing", severity: report.Error,
		cause: "a rank of a communicator is not in evidence",
		next: "collect every rank's log: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p on each node, or the Ray " +
			"workers' .out files of every node",
		how: "Every rank prints its own lines. A missing rank may have used another network. In a " +
			"report of a job, the rank left no manifest: it never started, or its node was lost.",
		sources: []string{"NCCL src/init.cc"},
	},
	NetworkUnknown: {
		name: "network-unknown", severity: report.Error,
		cause: "a rank's `Using network` line is not in evidence",
		next: "set NCCL_DEBUG=INFO, leave NCCL_DEBUG_SUBSYS unset and keep the log from its first " +
			"line",
		how: "The line is printed once for each communicator and rank (once for each process " +
			"before NCCL 2.13).",
		sources: []string{"NCCL src/init.cc"},
	},
	ProviderUnknown: {
		name: "provider-unknown", severity: report.Error,
		cause: "no line says which libfabric provider a rank's plugin selected",
		next: "keep the log from its first line; aws-ofi-nccl 1.4 or later prints `Selected " +
			"provider is`",
		how: "`Using network Libfabric` names the plugin, not the fabric below it. Only the " +
			"selected provider shows that it is EFA.",
		sources: []string{"aws-ofi-nccl src/nccl_ofi_net.cpp"},
	},
	InitIncomplete: {
		name: "init-incomplete", severity: report.Error,
		cause: "a rank started to join a communicator but did not finish",
		next:  "look for a rank that is missing or failed: the others wait for it",
		how: "A rank prints Init START, waits for all others, and prints Init COMPLETE. When one " +
			"is missing or failed, the rest waits.",
		sources: []string{"NCCL src/init.cc"},
	},
	NoTraffic: {
		name: "no-traffic", severity: report.Error,
		cause: "no rank opened a channel between nodes: nothing was sent",
		next:  "let the job run a collective (one training step) before its logs are judged",
		how: "From NCCL 2.22 on, channels are opened by the first collective, not by the " +
			"initialization.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	NoInterNode: {
		name: "no-inter-node-communicator", severity: report.Error,
		cause: "no communicator in evidence spans two nodes, so there is no inter-node traffic to " +
			"judge",
		next:    "run on at least two nodes and collect the logs of both",
		how:     "Every communicator in the logs is inside one node, or none is in them.",
		sources: []string{"NCCL src/init.cc"},
	},
	PointToPointUnproven: {
		name: "point-to-point-unproven", severity: report.Error,
		cause: "point-to-point channels print no line once they are connected",
		next:  "pass --completed if the job succeeded",
		how: "A send or receive opens channels with connection index 1, for which NCCL prints no " +
			"Connected line.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
	OneSided: {
		name: "one-sided-channels", severity: report.Warning,
		cause: "a rank sends on channels that no rank in evidence receives on, or the reverse",
		next:  "collect both ends' logs in full",
		how: "Both ends of a connection print it. A missing end is in a log that was not " +
			"collected, or cut.",
		sources: []string{"NCCL src/transport/net.cc"},
	},
}
