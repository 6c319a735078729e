package record

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// form is one kind of line that the judge understands. To teach it another one,
// add one entry to the list that fits below: what the message starts with, how
// to read it, and a line of that kind. TestForms checks the entry by itself.
type form struct {
	// lead is what the message starts with, behind "NCCL INFO " or
	// "NCCL WARN " (NCCL turns some warnings into infos, so both count).
	lead string
	// parse fills the event and reports whether the message is of this form.
	// nil means a KindNote event with the code below.
	parse func(msg []byte, e *Event) bool
	// code is the finding that the line gives rise to, if any.
	code finding.Code
	// has must be somewhere in the message, when set.
	has string
	// fails reports whether the plugin's initialization failed at this line, which undoes a provider
	// selected before it.
	fails bool
	// example is a message of this form.
	example string
}

// mainForms carry the proof: communicators, networks, providers, channels.
func mainForms() []form {
	return []form{
		{lead: "Using network ", parse: parseNetwork, example: "Using network AWS Libfabric"},
		{lead: "NET/OFI Selected ", parse: parseProvider, example: "NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)"},
		{lead: "comm 0x", parse: parseInit, example: "comm 0x2b8e76d0 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"},
		{lead: "ncclComm", parse: parseInit, example: "ncclCommSplit comm 0x7f10 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 70 parent 0x7e00 splitCount 2 color 0 key 1- Init START"},
		{lead: "[Rank ", parse: parseInit, example: "[Rank 3] ncclCommInitRankConfig comm 0x2b8e rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 60 commId 0xd88d - Init START"},
		{lead: "Channel ", parse: parseChannel, example: "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA/Shared"},
		{lead: "Ring ", parse: parseChannel, example: "Ring 00 : 7 -> 8 [send] via NET/Socket/0"},
		{lead: "CollNet ", parse: parseCollNet, example: "CollNet 00/0 : 3 [send] via COLLNET/SHARP/0"},
		{lead: "Coll ", parse: parseCollNet, example: "Coll 00 : 3 [send] via COLLNET/SHARP/0/GDRDMA"},
		{lead: "Connected ", parse: parseConnected, example: "Connected all rings, use ring PXN 0 GDR 1"},
		{lead: "NCCL version ", parse: parseVersion, example: "NCCL version 2.29.7+cuda13.0"},
		{lead: "Bootstrap : Using", parse: parseBoot, example: "Bootstrap : Using eth0:10.0.1.5<0>"},
		{lead: "Bootstrap: Using", parse: parseBoot, example: "Bootstrap: Using eth0:10.0.1.5<0>"},
		{lead: "NCCL_HOSTID set by environment to ", parse: parseHostID, example: "NCCL_HOSTID set by environment to host-1"},
		{lead: "NET/OFI Initializing aws-ofi-nccl ", parse: parsePluginVersion, example: "NET/OFI Initializing aws-ofi-nccl 1.20.0"},
		{lead: "NET/OFI Using aws-ofi-nccl ", parse: parsePluginVersion, example: "NET/OFI Using aws-ofi-nccl 1.5.0aws"},
	}
}

// noteForms give rise to findings; those that fail also undo a provider.
func noteForms() []form {
	return []form{
		// Loading the plugin. TUNER, PROFILER, GIN and ENV plugins print the
		// same shapes and mean nothing here, hence the lead with NET.
		{lead: "NET/Plugin: Could not find:", code: finding.PluginNotFound, example: "NET/Plugin: Could not find: ofi libnccl-net-ofi.so"},
		{lead: "NET/Plugin", has: "No plugin found", code: finding.PluginNotFound, example: "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"},
		{lead: "NET/Plugin", has: "lugin load", code: finding.PluginLoadError, parse: parseLoadError, example: "NET/Plugin: Plugin load returned 2 : libfabric.so.1: cannot open shared object file: No such file or directory : when loading libnccl-net.so"},
		{lead: "NET/Plugin", has: "cannot open shared object", code: finding.PluginLoadError, parse: parseLoadError, example: "NET/Plugin: libnccl-net-ofi.so: libfabric.so.1: cannot open shared object file: No such file or directory"},
		{lead: "NET/Plugin", has: "version `", code: finding.PluginLoadError, parse: parseLoadError, example: "NET/Plugin: libnccl-net-ofi.so: /lib64/libc.so.6: version `GLIBC_2.34' not found"},
		{lead: "NET/Plugin", has: "undefined symbol: ", code: finding.PluginLoadError, parse: parseLoadError, example: "NET/Plugin: libnccl-net-ofi.so: undefined symbol: fi_getinfo"},
		{lead: "Failed to initialize any NET plugin", code: finding.PinnedNetworkAbsent, example: "Failed to initialize any NET plugin"},
		{lead: "Error: network ", has: "not found", code: finding.PinnedNetworkAbsent, example: "Error: network AWS Libfabric not found."},
		{lead: "Failed to initialize NET plugin AWS Libfabric", code: finding.PluginInitFailed, fails: true, example: "Failed to initialize NET plugin AWS Libfabric"},
		{lead: "Failed to initialize NET plugin Libfabric", code: finding.PluginInitFailed, fails: true, example: "Failed to initialize NET plugin Libfabric"},
		{lead: "Failed to initialize NET plugin OFI", code: finding.PluginInitFailed, fails: true, example: "Failed to initialize NET plugin OFI"},

		// Inside the plugin.
		{lead: "NET/OFI No eligible providers were found", code: finding.NoEligibleProvider, example: "NET/OFI No eligible providers were found"},
		{lead: "NET/OFI Couldn't find any optimal provider", code: finding.NoEligibleProvider, fails: true, example: "NET/OFI Couldn't find any optimal provider"},
		{lead: "NET/OFI Could not find any optimal provider", code: finding.NoEligibleProvider, fails: true, example: "NET/OFI Could not find any optimal provider supporting GPUDirect RDMA"},
		{lead: "NET/OFI Only EFA provider is supported", code: finding.EFADeviceMissing, fails: true, example: "NET/OFI Only EFA provider is supported"},
		{lead: "NET/OFI Setting provider_filter to efa", parse: parseNothing, example: "NET/OFI Setting provider_filter to efa"},
		{lead: "NET/OFI GIN only supports RDMA", parse: parseNothing, example: "NET/OFI GIN only supports RDMA transport protocol."},
		{lead: "NET/OFI EFA provider requires at least libfabric", code: finding.LibfabricTooOld, fails: true, example: "NET/OFI EFA provider requires at least libfabric version 1.18.0."},
		{lead: "NET/OFI Unable to find a protocol that worked", code: finding.PluginInitFailed, fails: true, example: "NET/OFI Unable to find a protocol that worked.  Failing initialization."},
		{lead: "NET/OFI Failed to initialize ", has: "protocol", code: finding.PluginInitFailed, fails: true, example: "NET/OFI Failed to initialize sendrecv protocol"},
		{lead: "NET/OFI aws-ofi-nccl initialization failed", code: finding.PluginInitFailed, fails: true, example: "NET/OFI aws-ofi-nccl initialization failed"},
		{lead: "NET/OFI Initializing plugin failed", code: finding.PluginInitFailed, fails: true, example: "NET/OFI Initializing plugin failed"},
		{lead: "NET/OFI GDR disabled on GDR-supported instance type", code: finding.GDRRefused, fails: true, example: "NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge"},
		{lead: "NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR", code: finding.GDRRefused, example: "NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"},
		{lead: "NET/OFI fi_getinfo", has: "failed", code: finding.GetinfoFailed, example: "NET/OFI fi_getinfo() call failed: No data available"},
		{lead: "NET/OFI OFI fi_getinfo", has: "failed", code: finding.GetinfoFailed, example: "NET/OFI OFI fi_getinfo() call failed with error: No data available"},
		{lead: "NET/OFI Creating new endpoint", code: finding.EndpointFailed, fails: true, example: "NET/OFI Creating new endpoint for device 0 failed. RC: -12"},
		{lead: "NET/OFI Couldn't allocate endpoint", code: finding.EndpointFailed, fails: true, example: "NET/OFI Couldn't allocate endpoint. RC: -12, ERROR: Cannot allocate memory"},
		{lead: "NET/OFI Couldn't enable endpoint", code: finding.EndpointFailed, fails: true, example: "NET/OFI Couldn't enable endpoint. RC: -12, ERROR: Cannot allocate memory"},
		{lead: "NET/OFI Couldn't open ", code: finding.QueueFailed, fails: true, example: "NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory"},
		{lead: "NET/OFI Unable to register memory", code: finding.MemoryRegistrationFailed, example: "NET/OFI Unable to register memory (type = 2) for device 0. RC: -22, Error: Invalid argument"},
		{lead: "NET/OFI Unexpected number of remote rails", code: finding.RailsDiffer, example: "NET/OFI Unexpected number of remote rails for dev 3. Expected 4 but got 1"},
		{lead: "NET/OFI Unable to insert remote address", code: finding.PeerUnreachable, example: "NET/OFI Unable to insert remote address into address vector for device 0. RC: -22"},
		{lead: "NET/OFI Request ", has: "completed with error", code: finding.TransferFailed, example: "NET/OFI Request 0x7f completed with error. RC: 21. Error: unknown error. Completed length: 0"},

		// Sockets and bootstrap.
		{lead: "socketFinalizeAccept: ", code: finding.MagicFlood, has: "valid magic", example: "socketFinalizeAccept: didn't receive a valid magic from 192.0.2.2<34568>"},
		{lead: "socketFinalizeAccept: wrong type", code: finding.MagicFlood, example: "socketFinalizeAccept: wrong type 3 != 4"},
		{lead: "socketFinalizeAccept: wrong magic", code: finding.MagicFlood, example: "socketFinalizeAccept: wrong magic 20000 != 9e0a2f7c11d3"},
		{lead: "Bootstrap : no socket interface found", code: finding.SocketInterfaceWrong, example: "Bootstrap : no socket interface found"},
		{lead: "Bootstrap: no socket interface found", code: finding.SocketInterfaceWrong, example: "Bootstrap: no socket interface found"},
		{lead: "No socket interface found", code: finding.SocketInterfaceWrong, example: "No socket interface found"},
		{lead: "NET/Socket : no interface found", code: finding.SocketInterfaceWrong, example: "NET/Socket : no interface found"},
		{lead: "No interface found", code: finding.SocketInterfaceWrong, example: "No interface found in the same subnet as remote address 10.0.1.5<4000>"},
		{lead: "Net : No interface found", code: finding.SocketInterfaceWrong, example: "Net : No interface found in the same subnet as remote address 10.0.1.5<4000>"},
		{lead: "socketStartConnect: ", code: finding.PeerUnreachable, example: "socketStartConnect: Connect to 10.0.1.5<40001> failed : Connection timed out"},
		{lead: "socketPollConnect", code: finding.PeerUnreachable, example: "socketPollConnect: Connect to 10.0.1.5<40001> returned 113(No route to host)"},
		{lead: "Connect to ", has: "failed", code: finding.PeerUnreachable, example: "Connect to 10.0.1.5<40001> failed : Connection refused"},
		{lead: "socketProgress: Connection closed by remote peer", code: finding.RemoteLost, example: "socketProgress: Connection closed by remote peer ip-10-0-1-5<40001>"},
		{lead: "Net : Connection closed by remote peer", code: finding.RemoteLost, example: "Net : Connection closed by remote peer"},
		{lead: "Call to recv from ", has: "failed", code: finding.RemoteLost, example: "Call to recv from 10.0.1.5<40001> failed : Connection reset by peer"},
		{lead: "Duplicate GPU detected", code: finding.DuplicateGPU, example: "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"},
		{lead: "Detected mixed local Net device counts", code: finding.DeviceCountsDiffer, example: "Detected mixed local Net device counts across ranks (min 1, max 4). Ignoring due to NCCL_IGNORE_NET_MISMATCH."},

		// The evidence itself.
		{lead: "NCCL_DEBUG_SUBSYS set by environment to ", code: finding.SubsystemMask, parse: parseSubsystems, example: "NCCL_DEBUG_SUBSYS set by environment to NET"},
		{lead: "RCCL version", code: finding.RCCL, example: "RCCL version : 2.22.3-HEAD:6a1fae3"},
	}
}

func parseNetwork(msg []byte, e *Event) bool {
	e.Kind, e.Name = KindNetwork, bytes.TrimRight(unwrapped(msg[len("Using network "):]), " ")
	return len(e.Name) > 0 && len(e.Name) <= maxNetName
}

// parseProvider reads `Selected Provider is efa;ofi_rxr (found 4 nics)` and the
// later `Selected provider is efa, fabric is efa-direct (found 4 nics)`. Names
// can be stacked; the part before `;` is the one that touches the wire.
func parseProvider(msg []byte, e *Event) bool {
	c := cursor{b: msg, i: len("NET/OFI Selected ")}
	if !c.lit("provider is ") && !c.lit("Provider is ") {
		return false
	}
	name := unwrapped(c.word())
	if i := bytes.IndexByte(name, ';'); i >= 0 {
		name = name[:i]
	}
	if i := bytes.Index(c.rest(), []byte("(found ")); i >= 0 {
		c.i += i + len("(found ")
		e.Count, _ = c.number()
	}
	e.Kind, e.Name = KindProvider, name
	return len(name) > 0 && len(name) <= maxNetName
}

// parseConnected reads what ends a set-up of network channels. `Connected to proxy` comes before
// it, and `Connected collnet + chain` and `Connected Collnet Chains` mean another network: none of
// them proves EFA.
func parseConnected(msg []byte, e *Event) bool {
	for kind, s := range []string{"all rings", "all trees", "binomial trees", "NVLS tree"} {
		if hasPrefix(msg[len("Connected "):], s) {
			e.Kind, e.Count = KindConnected, int32(kind)
			return true
		}
	}
	return false
}

func parseVersion(msg []byte, e *Event) bool {
	c := cursor{b: msg, i: len("NCCL version ")}
	e.Kind, e.Name = KindVersion, unwrapped(c.word())
	return len(e.Name) > 0 && len(e.Name) <= maxNetName && isDigit(e.Name[0])
}

func parsePluginVersion(msg []byte, e *Event) bool {
	i := bytes.Index(msg, []byte("aws-ofi-nccl "))
	c := cursor{b: msg, i: i + len("aws-ofi-nccl ")}
	e.Kind, e.Code, e.Name = KindVersion, finding.TwoPluginVersions, c.word()
	return len(e.Name) <= maxNetName && (hasPrefix(e.Name, "git-") || len(e.Name) > 0 && isDigit(e.Name[0]))
}

// parseBoot marks a new incarnation of the process, and a bootstrap over an
// interface that other nodes cannot reach.
func parseBoot(msg []byte, e *Event) bool {
	e.Kind = KindBoot
	i := bytes.Index(msg, []byte("Using"))
	where := strings.TrimLeft(string(msg[i+len("Using"):min(len(msg), i+40)]), " ")
	where = strings.TrimPrefix(where, "[0]")
	for _, bad := range []string{"lo:", "docker", "127.0.0.1"} {
		if strings.HasPrefix(where, bad) {
			e.Code = finding.BootstrapOnLoopback
		}
	}
	e.Name = bootAddress(msg[i+len("Using"):])
	return true
}

// bootAddress reads `eth0:10.0.1.5` of `[0]eth0:10.0.1.5<0>`, of several the first; nil when there is
// none, as where people replaced it: `eth0:x.x.x.x<0>`.
func bootAddress(b []byte) []byte {
	b = bytes.TrimPrefix(bytes.TrimLeft(b, " "), []byte("[0]"))
	end := bytes.IndexAny(b, `<&\`) // `<`, or its escape in HTML or JSON
	colon := bytes.IndexByte(b, ':')
	if colon < 0 || end <= colon+1 || end > maxNetName || bytes.ContainsAny(b[:end], " []") {
		return nil
	}
	if _, err := netip.ParseAddr(string(b[colon+1 : end])); err != nil {
		return nil
	}
	return b[:end]
}

func parseHostID(msg []byte, e *Event) bool {
	e.Kind, e.Name = KindHostID, trimRecord(unwrapped(msg[len("NCCL_HOSTID set by environment to "):]))
	return len(e.Name) > 0 && len(e.Name) <= maxNetName
}

// parseLoadError keeps a missing optional symbol or library from counting: an
// absent libnccl-net.so is PluginNotFound, an absent dependency a load error.
func parseLoadError(msg []byte, e *Event) bool {
	e.Kind, e.Code = KindNote, finding.PluginLoadError
	missing := bytes.Index(msg, []byte(": cannot open shared object"))
	if missing >= 0 && bytes.Contains(msg[max(0, missing-64):missing], []byte("libnccl-net")) {
		e.Code = finding.PluginNotFound
	}
	return true
}

// parseNothing reads a line that shows only that the plugin runs. GIN, for communication that kernels
// start, is no part of NCCL's network transport.
func parseNothing(_ []byte, e *Event) bool {
	e.Kind, e.Code = KindNote, finding.None
	return true
}

// parseSubsystems reads the list of subsystems that are printed, or are not
// behind `^`. Only one that hides INIT hides what the proof needs.
func parseSubsystems(msg []byte, e *Event) bool {
	_, list, _ := strings.Cut(string(msg), "environment to ")
	list, inverted := strings.CutPrefix(strings.TrimRight(list, ". "), "^")
	listed := slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		return s == "INIT" || s == "ALL"
	})
	if e.Kind = KindNote; listed == inverted {
		e.Code = finding.SubsystemMask
	}
	return true
}
