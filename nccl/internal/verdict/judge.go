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

// Expected is what is known about a run beside its logs; see nccl.Options.
type Expected struct {
	// WorldSize is the number of ranks that the run must have; 0 means any.
	WorldSize int
	// Nodes is the number of nodes that the run must span; 0 means any.
	Nodes int
	// Provider is the libfabric provider that the gate wants; "" means efa. No
	// other can ever make the verdict efa.
	Provider string
	// Completed says that the job is known to have ended well, which alone
	// proves point-to-point channels (they print no line once connected).
	Completed bool
}

// runJudge judges one run.
type runJudge struct {
	opts  Expected
	ev    *model.Evidence
	run   *model.Run
	found *findings
	// counts of inter-node channel kinds by class
	efa, other, unknown int
	blocked             bool
	tainted             bool // some rank is known from de-duplicated lines only
	failed              bool // a channel between nodes is on another network, whatever follows
	stripped            bool // host and process were removed from the logs
}

// block records what keeps the run from being proven.
func (j *runJudge) block(c finding.Code, rank int32, r model.Ref, detail string) {
	j.blocked = true
	j.found.add(c, rank, r, detail)
}

// blockVariant is block under a circumstance that changes the finding's words.
func (j *runJudge) blockVariant(v finding.Variant, c finding.Code, rank int32, r model.Ref, detail string) {
	j.blocked = true
	j.found.addVariant(v, c, rank, r, detail)
}

// everyRun counts what may be any run's, and so weighs on each of them.
func (j *runJudge) everyRun() {
	j.orphanChannels()
	j.strippedChannels()
	j.torn()
}

// judge returns the run's verdict: any EFA beside anything else is mixed,
// anything else alone is not-efa, and EFA alone is efa only when every
// condition of the proof holds.
func (j *runJudge) judge() report.Verdict {
	wide := false
	for _, c := range j.run.Comms {
		if c.Spans() {
			wide = true
			j.comm(c)
		} else if c.Hosts() > 1 {
			j.contradicted(c)
		}
	}
	j.expectations()
	j.versions()
	if !wide && j.efa+j.other+j.unknown == 0 {
		j.block(finding.NoInterNode, noRank, model.Ref{}, "")
	} else if j.efa+j.other+j.unknown == 0 {
		j.block(finding.NoTraffic, noRank, model.Ref{}, "")
	}
	return j.verdict()
}

func (j *runJudge) verdict() report.Verdict {
	switch {
	case j.efa > 0 && j.other > 0:
		j.found.add(finding.MixedTransports, noRank, model.Ref{}, "")
		return report.Mixed
	case j.tainted:
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

// rank checks what a rank says about itself: its network and its provider.
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
			j.block(finding.ProviderNotEFA, rk.Rank, r, "one of the hosts that share a name selected "+lost)
		}
	}
}

// usedOrChosen is the circumstance of what a rank chose: it may show no channel.
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
		if traffic == report.TrafficOther && c.Nodes > 1 && !record.IsEFANetwork(record.NetworkOf(t.Label)) {
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

// tallies yields the rank's channels and what they use. A driver's copy is in no reliable
// order, but what it shows off EFA was.
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

// count adds one tally to the run's balance and names what is not EFA.
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

// provider returns what the rank's process selected last, over all views of it.
// A view that selected nothing is silent; one that failed or selected something
// else is returned before one that says efa.
func (j *runJudge) provider(rk *model.Rank) (name string, failed bool, where model.Ref) {
	clean := rk.Clean()
	for _, m := range rk.Views {
		for _, p := range append([]*model.Process{m.Proc}, j.ev.Parts[m.Proc]...) {
			if clean && p.File.Repeats > 0 {
				continue // a driver's copy, whose last line may not be the last printed
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

// torn blocks the proof while torn channel lines could hide something: they may
// be any run's.
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
