package synth

// start prints what a process prints before its first communicator: versions,
// bootstrap, the plugin's loading, its selection of providers and its failures.
func (w *world) start(rk *rank) []line {
	text, prefixed := w.forms.banner()
	head := line{kind: version, rank: rk.id, text: text}
	if prefixed {
		head = w.log(rk, subInit, noise, text)
	}
	out := w.compact(
		w.log(rk, subInit|subEnv, noise, w.ifAtLeast(28, "ENV/Plugin: Could not find: libnccl-env.so")),
		w.log(rk, subEnv, noise, "NCCL_SOCKET_IFNAME set by environment to eth0"),
		w.log(rk, w.bootstrapSub(), noise, w.forms.bootstrap(rk.node)),
		w.log(rk, subInit, noise, w.ifAtLeast(20, "cudaDriverVersion 13000")),
	)
	if rk.id == 0 || w.run.NCCL.AtLeast(22, 3) {
		out = append(out, head)
	}
	out = append(out, w.load(rk)...)
	f := rk.proc.fabric
	if !f.missing && !f.forced {
		out = append(out, w.choose(rk, f)...)
	}
	switch {
	case f.network == "":
		origin, text := w.forms.noNetwork(w.run.Pin)
		return append(out, w.warn(rk, origin, text), w.log(rk, subInit, noise, "init.cc:421 -> 5"))
	case f.network == "Socket":
		out = append(out, w.compact(
			w.log(rk, subInit|subNet, noise, "NET/IB : No device found."),
			w.log(rk, subInit|subNet, noise, w.ifAtLeast(26, "NET/IB : Using [RO]; OOB eth0:10.0.0.10<0>")),
			w.log(rk, subInit|subNet, noise, w.ifAtLeast(28, "Failed to initialize NET plugin IB")),
			w.log(rk, subInit|subNet, noise, "NET/Socket : Using [0]eth0:10.0.0.10<0>"))...)
	case f.forced:
		out = append(out, w.log(rk, subInit|subNet, noise, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.10<0>"))
	}
	if w.run.NCCL.AtLeast(27, 3) {
		out = append(out,
			w.log(rk, subInit|subNet, noise, "Initialized NET plugin "+f.network),
			w.log(rk, subInit|subNet, noise, "Assigned NET plugin "+f.network+" to comm"))
	}
	return out
}

func (w *world) bootstrapSub() subsystem {
	if w.run.NCCL.AtLeast(23, 4) {
		return subBootstrap
	}
	return subInit
}

// load prints the loading of the plugin library.
func (w *world) load(rk *rank) []line {
	f := rk.proc.fabric
	v := w.run.NCCL
	var out []line
	if v.AtLeast(28, 3) {
		out = append(out, w.log(rk, subEnv, noise, "NCCL_NET_PLUGIN set by environment to ofi"))
	}
	if f.missing {
		out = append(out, w.log(rk, subInit|subNet, roleCause, w.forms.pluginMissing()))
		if v.AtLeast(17, 1) && !v.AtLeast(19, 0) {
			out = append(out, w.log(rk, subInit|subNet, roleCause, "NET/Plugin : No plugin found, using internal implementation"))
		}
		return out
	}
	name := w.pluginNetwork()
	if !v.AtLeast(27, 7) {
		out = append(out, w.log(rk, subInit|subNet, noise, "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol."))
	}
	out = append(out, w.log(rk, subInit|subNet, noise, "NET/Plugin: Loaded net plugin "+name+" (v8)"))
	switch {
	case v.AtLeast(28, 3):
		out = append(out, w.log(rk, subInit|subNet, noise, "Successfully loaded external network plugin /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"))
	case v.AtLeast(27, 3):
		out = append(out, w.log(rk, subInit|subNet, noise, "Successfully loaded external plugin libnccl-net.so"))
	}
	return out
}

// choose prints the plugin's initialization.
func (w *world) choose(rk *rank, f fabricState) []line {
	v := w.run.Plugin
	banner := "NET/OFI Using aws-ofi-nccl " + v.String()
	if v.AtLeast(7, 1) {
		banner = "NET/OFI Initializing aws-ofi-nccl " + v.String()
	}
	net := subInit | subNet
	out := []line{w.log(rk, net, noise, banner)}
	if v.AtLeast(8, 0) {
		out = append(out, w.log(rk, net, noise, "NET/OFI Using Libfabric version 2.4"))
	}
	if v.AtLeast(18, 0) {
		out = append(out, w.log(rk, net, noise, "NET/OFI Plugin selected platform: AWS"))
	}
	for _, name := range f.attempts {
		if name == "none" {
			out = append(out, w.nothingFound(rk, f.failure == noProvider)...)
			continue
		}
		out = append(out, w.log(rk, net, roleProvider, w.provider(name)))
		if v.AtLeast(7, 0) {
			out = append(out, w.log(rk, net, noise, "NET/OFI Using transport protocol SENDRECV"))
		}
	}
	return append(out, w.failure(rk, f.failure)...)
}

// nothingFound returns an attempt that found no provider; final when no other follows.
func (w *world) nothingFound(rk *rank, final bool) []line {
	v := w.run.Plugin
	switch {
	case v.AtLeast(14, 1):
		return []line{w.log(rk, subInit|subNet, roleCause, "NET/OFI No eligible providers were found")}
	case !final:
		return nil
	case v.AtLeast(9, 0):
		return []line{w.warn(rk, w.origin(), "NET/OFI Failed to initialize sendrecv protocol")}
	default:
		return []line{w.warn(rk, w.origin(), "NET/OFI Couldn't find any optimal provider")}
	}
}

// failure prints why the plugin failed, or nothing.
func (w *world) failure(rk *rank, f initFailure) []line {
	if f == noFailure {
		return nil
	}
	v := w.run.Plugin
	var out []line
	switch f {
	case tooOld:
		if v.AtLeast(8, 0) {
			out = append(out, w.warn(rk, w.origin(), "NET/OFI EFA provider requires at least libfabric version 1.22.0"))
		}
	case noQueue:
		out = append(out, w.warn(rk, w.origin(), "NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory"))
	}
	switch {
	case v.AtLeast(13, 2):
		out = append(out,
			w.warn(rk, w.origin(), "NET/OFI Unable to find a protocol that worked.  Failing initialization."),
			w.warn(rk, w.origin(), "NET/OFI aws-ofi-nccl initialization failed"),
			w.warn(rk, w.origin(), "NET/OFI Initializing plugin failed"))
	case v.AtLeast(7, 0) && f != noProvider:
		out = append(out, w.warn(rk, w.origin(), "NET/OFI Failed to initialize sendrecv protocol"))
	case f == tooOld:
		out = append(out, w.warn(rk, w.origin(), "NET/OFI Creating new endpoint on dev 0 failed"))
	}
	if w.run.NCCL.AtLeast(28, 3) {
		out = append(out, w.log(rk, subInit|subNet, roleCause, "Failed to initialize NET plugin "+w.pluginNetwork()))
	}
	return out
}

// origin returns what the plugin prints before NCCL WARN.
func (w *world) origin() string {
	if w.run.Plugin.AtLeast(15, 0) {
		return "int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**):334"
	}
	return "nccl_net_ofi_init:155"
}
