package nccl

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// diagnose adds what explains a verdict: the plugin's and the sockets' own
// complaints, and what the evidence as a whole looks like.
func diagnose(ev *evidence, v report.Verdict, found *findings) {
	for _, f := range ev.files {
		for _, c := range Codes() {
			for _, n := range f.notes[c] {
				if matters(c, n.proc, v) {
					found.add(c, rankOf(n.proc), n.first, times(n.count))
				}
			}
		}
		for _, p := range f.procs {
			diagnoseProcess(p, v, found)
		}
		if f.cutTail {
			found.add(LogCut, -1, ref{file: f, line: f.lines + 1}, "the file ends inside a line")
		}
	}
	diagnoseDebugLevel(ev, found)
	diagnoseVersions(ev, found)
	for _, c := range ev.comms {
		if c.spans() {
			diagnoseComm(c, found)
		}
	}
}

// matters reports whether a line that was seen is worth a finding: a plugin
// that found no provider at first and selected one later did well, and a
// missing plugin explains nothing when EFA was used.
func matters(c Code, p *process, v report.Verdict) bool {
	if p == nil {
		return true
	}
	switch c {
	case NoEligibleProvider, PluginInitFailed, EFADeviceMissing, QueueFailed, EndpointFailed, LibfabricTooOld:
		return p.provider == "" || p.failed
	case PluginNotFound:
		return v != report.EFA && p.provider == ""
	case SubsystemMask:
		return v == report.Inconclusive
	case BootstrapOnLoopback:
		return p.spansNodes() || len(p.members) == 0
	}
	return true
}

func (p *process) spansNodes() bool {
	for _, m := range p.members {
		if m.nodes > 1 {
			return true
		}
	}
	return false
}

// rankOf is the rank of the process in its widest communicator, -1 if unknown.
func rankOf(p *process) int32 {
	if p == nil || len(p.members) == 0 {
		return -1
	}
	best := p.members[0]
	for _, m := range p.members[1:] {
		if m.size > best.size {
			best = m
		}
	}
	return best.rank
}

func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d lines", n)
}

// diagnoseProcess looks at one process by itself.
func diagnoseProcess(p *process, v report.Verdict, found *findings) {
	if p.codes.has(NoEligibleProvider) && p.provider == "" && p.codes.has(PluginInitFailed) {
		found.add(EFADeviceMissing, rankOf(p), p.noteRef(NoEligibleProvider), "")
	}
	if len(p.loose) > 0 && len(p.members) == 0 && v != report.EFA {
		found.add(LogCut, -1, p.first, "channels without the lines of their communicator")
	}
	for _, m := range p.members {
		if m.complete == 0 && !m.ended && p.started && len(m.tallies) == 0 && m.hasID {
			found.add(InitIncomplete, m.rank, m.first, "")
		}
	}
}

func (p *process) noteRef(c Code) ref {
	for _, n := range p.file.notes[c] {
		if n.proc == p {
			return n.first
		}
	}
	return p.first
}

// diagnoseDebugLevel says why there is nothing to judge.
func diagnoseDebugLevel(ev *evidence, found *findings) {
	infos, warns := 0, 0
	var version ref
	for _, f := range ev.files {
		infos += f.infos
		warns += f.warns
		if version.line == 0 {
			version = f.version
		}
	}
	switch {
	case infos > 0:
		if at, masked := ev.masked(); masked {
			found.add(SubsystemMask, -1, at, "no process names a network or a communicator")
		}
	case warns > 0 || version.line > 0:
		found.add(DebugTooLow, -1, version, "")
	default:
		found.add(NoNCCLLines, -1, ref{}, "")
	}
}

// masked reports whether NCCL printed lines, and no process at all one of those
// that every process prints while it makes a communicator: a mask hides them
// everywhere, while a cut or a crash concerns single processes.
func (ev *evidence) masked() (at ref, masked bool) {
	for _, f := range ev.files {
		for _, p := range f.procs {
			if len(p.members) > 0 || len(p.waiting) > 0 || p.codes.has(PinnedNetworkAbsent) {
				return ref{}, false
			}
			if at.line == 0 {
				at = p.first
			}
		}
	}
	return at, true
}

// diagnoseVersions compares NCCL's and the plugin's versions over processes.
func diagnoseVersions(ev *evidence, found *findings) {
	nccl, plugin := map[string]ref{}, map[string]ref{}
	for _, f := range ev.files {
		if v := unprefixedVersion(f.version.text); v != "" {
			nccl[v] = f.version
		}
		for _, p := range f.procs {
			if p.version != "" {
				nccl[p.version] = p.first
			}
			if p.pluginVer != "" {
				plugin[p.pluginVer] = p.first
			}
		}
	}
	if len(nccl) > 1 {
		found.add(TwoNCCLVersions, -1, anyRef(nccl), strings.Join(sortedKeys(nccl), ", "))
	}
	if len(plugin) > 1 {
		found.add(TwoPluginVersions, -1, anyRef(plugin), strings.Join(sortedKeys(plugin), ", "))
	}
}

// diagnoseComm looks at how the channels of a communicator are spread.
func diagnoseComm(c *comm, found *findings) {
	low, high, sends, receives, gdr, net := 1<<30, 0, 0, 0, 0, 0
	onHost := c.ranksByHost()
	for _, cl := range c.claims {
		mine, devices := 0, uint64(0)
		for _, m := range cl.members {
			for i := range m.tallies {
				t := &m.tallies[i]
				if t.medium != mediumNet || !efaNetwork(networkOf(t.label)) {
					continue
				}
				mine += t.count
				sends, receives, gdr = sends+t.sends, receives+t.receives, gdr+t.gdr
				devices |= t.devices
			}
		}
		if mine == 0 {
			continue
		}
		net += mine
		low, high = min(low, mine), max(high, mine)
		used := (&tally{devices: devices}).deviceCount()
		p := cl.members[0].proc
		if nics := int(p.nics); onHost[cl.host] <= 1 && nics > used {
			found.add(FewerDevices, cl.rank, p.chosen, fmt.Sprintf("%d found, %d used", nics, used))
		}
	}
	if net == 0 {
		return
	}
	if high >= 4*low {
		found.add(UnbalancedChannels, -1, c.claims[0].first(), fmt.Sprintf("from %d to %d channel lines a rank", low, high))
	}
	if n, _ := c.missing(); n == 0 && sends != receives {
		found.add(OneSided, -1, c.claims[0].first(), fmt.Sprintf("communicator %s: %d sends, %d receives", c.key, sends, receives))
	}
	if gdr == 0 {
		found.add(GDRAbsent, -1, c.claims[0].first(), "communicator "+c.key)
	}
}
