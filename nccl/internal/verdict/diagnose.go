package verdict

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// diagnose adds findings that explain a verdict: errors of the plugin and the sockets, and
// properties of the evidence.
func diagnose(ev *model.Evidence, v report.Verdict, found *findings) {
	_, masked := ev.Masked()
	removed := stripped(ev)
	for _, f := range ev.Files {
		for _, c := range finding.Codes() {
			if c == finding.TornLines && removed {
				continue
			}
			for _, n := range f.Notes[c] {
				if matters(c, n.Proc, v) {
					found.addVariant(variantOf(c, n.Proc), c, model.RankOf(n.Proc), n.First, times(n.Count))
				}
			}
		}
		for _, p := range f.Procs {
			diagnoseProcess(p, v, masked, found)
		}
		if f.CutTail {
			found.addVariant(finding.Harmless, finding.LogCut, noRank, model.Ref{File: f, Line: f.Lines + 1}, "the file ends inside a line")
		}
	}
	diagnoseDebugLevel(ev, found)
	diagnoseVersions(ev, found)
	for _, c := range ev.Comms {
		if c.Spans() {
			diagnoseComm(c, found)
		}
	}
}

// matters reports whether a line is a finding. A plugin that selects a provider on its second
// attempt is no problem, and neither is a missing plugin if EFA was used.
func matters(c finding.Code, p *model.Process, v report.Verdict) bool {
	if p == nil {
		return true
	}
	switch c {
	case finding.NoEligibleProvider, finding.GetinfoFailed, finding.PluginInitFailed, finding.EFADeviceMissing, finding.QueueFailed, finding.EndpointFailed, finding.LibfabricTooOld:
		return p.Provider == "" || p.Failed
	case finding.PluginNotFound:
		return v != report.EFA && p.Provider == ""
	case finding.SubsystemMask:
		return v == report.Inconclusive && len(p.Views) == 0
	case finding.BootstrapOnLoopback:
		return p.SpansNodes()
	}
	return true
}

// variantOf returns the variant of a finding about the process: GPUDirect errors are harmless if
// the plugin then worked.
func variantOf(c finding.Code, p *model.Process) finding.Variant {
	if c == finding.GDRRefused && p != nil && p.Provider != "" && !p.Failed {
		return finding.Harmless
	}
	return finding.Plain
}

func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d lines", n)
}

// diagnoseProcess adds findings about one process.
func diagnoseProcess(p *model.Process, v report.Verdict, masked bool, found *findings) {
	if p.Codes.Has(finding.NoEligibleProvider) && p.Provider == "" && p.Codes.Has(finding.PluginInitFailed) {
		found.add(finding.EFADeviceMissing, model.RankOf(p), p.NoteRef(finding.NoEligibleProvider), "")
	}
	if len(p.Unassigned) > 0 && len(p.Views) == 0 && v != report.EFA && !masked {
		found.add(finding.LogCut, noRank, p.First, "channels without the lines of their communicator")
	}
	if p.BeginsLate() && v != report.EFA {
		found.add(finding.LogCut, noRank, p.First, "it begins after the process chose its network")
	}
	for _, m := range p.Views {
		if m.Complete == 0 && !m.Ended && p.Started && len(m.Tallies) == 0 && m.HasID {
			found.add(finding.InitIncomplete, m.Rank, m.First, "")
		}
	}
}

// diagnoseDebugLevel adds the finding that explains missing evidence.
func diagnoseDebugLevel(ev *model.Evidence, found *findings) {
	infos, warns := 0, 0
	var version model.Ref
	for _, f := range ev.Files {
		infos += f.Infos
		warns += f.Warns
		if version.Line == 0 {
			version = f.Version
		}
	}
	switch {
	case stripped(ev):
	case infos > 0:
		if at, masked := ev.Masked(); masked {
			found.add(finding.SubsystemMask, noRank, at, "no INIT lines")
		} else if at, excerpt := ev.Excerpt(); excerpt && !found.has(finding.SubsystemMask) {
			found.add(finding.LogCut, noRank, at, "no communicator lines"+lastProvider(ev))
		}
	case warns > 0 || version.Line > 0:
		found.add(finding.DebugTooLow, noRank, version, "")
	default:
		found.add(finding.NoNCCLLines, noRank, model.Ref{}, "")
	}
}

// diagnoseVersions compares NCCL's and the plugin's versions over processes.
func diagnoseVersions(ev *model.Evidence, found *findings) {
	nccl, plugin := map[string]model.Ref{}, map[string]model.Ref{}
	for _, f := range ev.Files {
		if v := record.UnprefixedVersion(f.Version.Text); v != "" {
			nccl[v] = f.Version
		}
		for _, p := range f.Procs {
			if p.Version != "" {
				nccl[p.Version] = p.First
			}
			if p.PluginVer != "" {
				plugin[p.PluginVer] = p.First
			}
		}
	}
	if len(nccl) > 1 {
		found.add(finding.TwoNCCLVersions, noRank, firstRef(nccl), strings.Join(sortedKeys(nccl), ", "))
	}
	if len(plugin) > 1 {
		found.add(finding.TwoPluginVersions, noRank, firstRef(plugin), strings.Join(sortedKeys(plugin), ", "))
	}
}

// diagnoseComm adds findings about how the channels of a communicator are spread.
func diagnoseComm(c *model.Communicator, found *findings) {
	low, high, sends, receives, gdr, net := 1<<30, 0, 0, 0, 0, 0
	onHost := c.RanksByHost()
	for _, rk := range c.Ranks {
		mine, devices := 0, uint64(0)
		for _, m := range rk.Views {
			for i := range m.Tallies {
				t := &m.Tallies[i]
				if !mayBeEFA(*t) {
					continue
				}
				mine += t.Count
				sends, receives, gdr = sends+t.Sends, receives+t.Receives, gdr+t.GDR
				devices |= t.Devices
			}
		}
		if mine == 0 {
			continue
		}
		net += mine
		low, high = min(low, mine), max(high, mine)
		used := (&model.Tally{Devices: devices}).DeviceCount()
		p := rk.Views[0].Proc
		if nics := int(p.Nics); onHost[rk.Host] <= 1 && nics > used {
			found.add(finding.FewerDevices, rk.Rank, p.Chosen, fmt.Sprintf("%d found, %d used", nics, used))
		}
	}
	if net == 0 {
		return
	}
	if high >= 4*low {
		found.add(finding.UnbalancedChannels, noRank, c.Ranks[0].First(), fmt.Sprintf("from %d to %d channel lines a rank", low, high))
	}
	if n, _ := c.Missing(); n == 0 && sends != receives {
		found.add(finding.OneSided, noRank, c.Ranks[0].First(), fmt.Sprintf("communicator %s: %d sends, %d receives", c.Key, sends, receives))
	}
	if gdr == 0 {
		found.add(finding.GDRAbsent, noRank, c.Ranks[0].First(), "communicator "+c.Key)
	}
}

// lastProvider returns the last selected provider, for logs that end after it.
func lastProvider(ev *model.Evidence) string {
	name := ""
	for _, f := range ev.Files {
		for _, p := range f.Procs {
			if p.Provider != "" {
				name = p.Provider
			}
		}
	}
	if name == "" {
		return ""
	}
	return "; the last selected provider is " + name
}
