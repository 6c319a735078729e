package verdict

import (
	"fmt"
	"iter"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Expected holds the expectations about a run; see nccl.Options.
type Expected struct {
	// WorldSize is the number of ranks that the run must have; 0 means any.
	WorldSize int
	// Nodes is the number of nodes that the run must span; 0 means any.
	Nodes int
	// Provider is the required libfabric provider; "" means efa. With any other value the verdict is
	// never efa.
	Provider string
	// Completed reports whether the job succeeded. Only this proves point-to-point channels, which
	// print no line when they are connected.
	Completed bool
}

// runJudge judges one run.
type runJudge struct {
	opts  Expected
	ev    *model.Evidence
	run   *model.Run
	found *findings
	// numbers of inter-node channels by traffic
	efa, other, unknown int
	blocked             bool
	deduplicated        bool // some rank has only de-duplicated lines
	failed              bool // a channel between nodes is not on EFA, whatever follows
	stripped            bool // host and process were removed from the logs
}

// block records a finding that prevents the verdict efa.
func (j *runJudge) block(c finding.Code, rank int32, r model.Ref, detail string) {
	j.blocked = true
	j.found.add(c, rank, r, detail)
}

// blockVariant is block with a variant of the finding.
func (j *runJudge) blockVariant(v finding.Variant, c finding.Code, rank int32, r model.Ref, detail string) {
	j.blocked = true
	j.found.addVariant(v, c, rank, r, detail)
}

// everyRun applies evidence that may belong to any run.
func (j *runJudge) everyRun() {
	j.orphanChannels()
	j.strippedChannels()
	j.torn()
}

// judge returns the verdict: mixed for EFA and other traffic, not-efa for other traffic only, and
// efa for EFA only if all conditions hold.
func (j *runJudge) judge() report.Verdict {
	wide := false
	for _, c := range j.run.Comms {
		if c.Spans() {
			wide = true
			j.comm(c)
		} else if c.Contradicts() {
			j.contradicted(c)
		}
	}
	j.checkExpected()
	j.versions()
	switch {
	case j.efa+j.other+j.unknown > 0, j.found.has(finding.OneHost):
	case wide:
		j.block(finding.NoTraffic, noRank, model.Ref{}, "")
	default:
		j.block(finding.NoInterNode, noRank, model.Ref{}, "")
	}
	return j.verdict()
}

func (j *runJudge) verdict() report.Verdict {
	switch {
	case j.efa > 0 && j.other > 0:
		j.found.add(finding.MixedTransports, noRank, model.Ref{}, "")
		return report.Mixed
	case j.deduplicated:
		j.found.add(finding.RayDeduplicated, noRank, model.Ref{}, "")
		return report.Inconclusive
	case j.other > 0 && j.unknown == 0:
		return report.NotEFA
	case j.efa > 0 && j.unknown == 0 && !j.blocked:
		return report.EFA
	default:
		return report.Inconclusive
	}
}

// rank checks the network and the provider that a rank printed.
func (j *runJudge) rank(c *model.Communicator, rk *model.Rank) {
	if len(rk.Networks) == 0 {
		j.block(finding.NetworkUnknown, rk.Rank, rk.First(), "communicator "+c.Key)
	}
	for _, u := range rk.Networks {
		if !record.IsEFANetwork(u.Name) {
			j.blockVariant(usedOrChosen(rk), finding.OtherNetwork, rk.Rank, u.Ref, "the rank chose "+u.Name)
			return
		}
	}
	provider, failed, r := j.provider(rk)
	switch {
	case failed:
		j.block(finding.ProviderFailedLater, rk.Rank, r, "")
	case provider == "":
		j.block(finding.ProviderUnknown, rk.Rank, rk.First(), "")
	case provider != record.EFAProvider:
		j.blockVariant(usedOrChosen(rk), finding.ProviderNotEFA, rk.Rank, r, "the provider is "+provider)
	case c.AmbiguousHosts:
		if lost := rk.Overridden(); lost != "" {
			j.block(finding.ProviderNotEFA, rk.Rank, r, "one of several hosts with the same name selected "+lost)
		}
	}
}

// usedOrChosen returns the variant of a finding about what a rank chose: it may show no channel.
func usedOrChosen(rk *model.Rank) finding.Variant {
	for _, v := range rk.Views {
		if slices.ContainsFunc(v.Tallies, func(t model.Tally) bool { return t.Medium == record.MediumNet }) {
			return finding.Plain
		}
	}
	return finding.Chosen
}

// channels counts the rank's channels by what they use and reports whether it opened a
// collective one between nodes.
func (j *runJudge) channels(c *model.Communicator, rk *model.Rank) (collective bool) {
	for t, traffic := range j.tallies(c, rk) {
		j.count(traffic, t, rk.Rank)
		if traffic == report.TrafficOther && c.Nodes > 1 && final(t) {
			j.failed = true
		}
		if traffic == report.TrafficLocal {
			continue
		}
		collective = collective || !t.P2P
		if t.P2P && !j.opts.Completed {
			j.block(finding.PointToPointUnproven, rk.Rank, t.First, "")
		}
		if t.Medium == record.MediumNet && len(rk.Networks) > 0 && !rk.Uses(record.NetworkOf(t.Label)) {
			j.block(finding.NetworkMismatch, rk.Rank, t.First, "")
		}
	}
	return collective
}

// final reports whether no later line can put channels that are not on EFA there: they are on another
// network, or the plugin's provider was another one when they were printed.
func final(t *model.Tally) bool {
	return !record.IsEFANetwork(record.NetworkOf(t.Label)) || t.Provider != ""
}

// tallies yields the rank's channels and what they use. The driver's log is not in order, so it is
// used only for channels that are not on EFA.
func (j *runJudge) tallies(c *model.Communicator, rk *model.Rank) iter.Seq2[*model.Tally, report.Traffic] {
	return func(yield func(*model.Tally, report.Traffic) bool) {
		final, _, _ := j.provider(rk)
		clean := rk.Clean()
		for _, m := range rk.Views {
			copied := clean && m.Proc.File.Repeats > 0
			for i := range m.Tallies {
				t := &m.Tallies[i]
				if copied && record.IsEFANetwork(record.NetworkOf(t.Label)) {
					continue
				}
				mnnvl := report.TrafficLocal
				if t.Medium == record.MediumMNNVL {
					mnnvl = c.MNNVL(rk, t)
				}
				if !yield(t, classify(t, final, mnnvl)) {
					return
				}
			}
		}
	}
}

// count adds the channels to the run's totals and reports those that are not on EFA.
func (j *runJudge) count(k report.Traffic, t *model.Tally, rank int32) {
	switch k {
	case report.TrafficEFA:
		j.efa++
	case report.TrafficOther:
		j.other++
		switch {
		case t.Medium == record.MediumMNNVL:
			j.block(finding.MNNVLBetweenNodes, rank, t.First, "")
		case record.IsEFANetwork(record.NetworkOf(t.Label)):
			j.block(finding.ProviderNotEFA, rank, t.First, "channels of "+t.Label)
		default:
			j.block(finding.OtherNetwork, rank, t.First, "channels over "+t.Label)
		}
	case report.TrafficUnknown:
		j.unknown++
		if t.Medium != record.MediumNet {
			j.block(finding.UnknownTransport, rank, t.First, t.Label)
		} else {
			j.block(finding.ProviderUnknown, rank, t.First, "channels of "+t.Label)
		}
	}
}

// provider returns what the rank's process selected last, over all views of it. Failures and other
// providers take precedence over efa.
func (j *runJudge) provider(rk *model.Rank) (name string, failed bool, where model.Ref) {
	clean := rk.Clean()
	for _, m := range rk.Views {
		for _, p := range append([]*model.Process{m.Proc}, j.ev.Parts[m.Proc]...) {
			if clean && p.File.Repeats > 0 {
				continue // from the driver's log, which is not in order
			}
			n, f := p.Provided()
			switch {
			case f:
				return n, true, p.Failure
			case n != "" && n != record.EFAProvider:
				return n, false, p.Chosen
			case n != "":
				name, where = n, p.Chosen
			}
		}
	}
	return name, false, where
}

// torn blocks the verdict efa if there are incomplete channel lines, which may belong to any run.
func (j *runJudge) torn() {
	for _, f := range j.ev.Files {
		if f.Torn > 0 && f.Repeats == 0 && !j.stripped {
			j.blocked = true
		}
	}
}

func orUnknown(n int) string {
	if n == 0 {
		return "an unknown number"
	}
	return fmt.Sprint(n)
}
