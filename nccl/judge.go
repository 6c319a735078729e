package nccl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Options is what is known about a run beside its logs. The zero value asks
// for nothing beyond what the logs tell.
type Options struct {
	// WorldSize is the number of ranks that the run must have; 0 asks for none.
	WorldSize int
	// Nodes is the number of nodes that the run must span; 0 asks for none.
	Nodes int
	// Provider is the libfabric provider that the gate wants; "" means efa. No
	// other can ever make the verdict efa.
	Provider string
	// Completed says that the job is known to have ended well, which alone
	// proves point-to-point channels (they print no line once connected).
	Completed bool
	// Workers bounds the goroutines that read and parse; 0 means GOMAXPROCS.
	Workers int
}

// runJudge judges one run.
type runJudge struct {
	opts  Options
	ev    *evidence
	run   *run
	found *findings
	// counts of inter-node channel kinds by class
	efa, other, unknown int
	blocked             bool
	tainted             bool // some rank is known from de-duplicated lines only
}

// block records what keeps the run from being proven.
func (j *runJudge) block(c Code, rank int32, r ref, detail string) {
	j.blocked = true
	j.found.add(c, rank, r, detail)
}

// everyRun counts what may be any run's, and so weighs on each of them.
func (j *runJudge) everyRun() {
	j.orphanChannels()
	j.torn()
}

// judge returns the run's verdict: any EFA beside anything else is mixed,
// anything else alone is not-efa, and EFA alone is efa only when every
// condition of the proof holds.
func (j *runJudge) judge() report.Verdict {
	wide := false
	for _, c := range j.run.comms {
		if c.spans() {
			wide = true
			j.comm(c)
		}
	}
	j.expectations()
	j.versions()
	if !wide && j.efa+j.other+j.unknown == 0 {
		j.block(NoInterNode, -1, ref{}, "")
	} else if j.efa+j.other+j.unknown == 0 {
		j.block(NoTraffic, -1, ref{}, "")
	}
	return j.verdict()
}

func (j *runJudge) verdict() report.Verdict {
	switch {
	case j.efa > 0 && j.other > 0:
		j.found.add(MixedTransports, -1, ref{}, "")
		return report.Mixed
	case j.tainted:
		j.found.add(RayDeduplicated, -1, ref{}, "")
		return report.Inconclusive
	case j.other > 0 && j.unknown == 0:
		return report.NotEFA
	case j.efa > 0 && j.unknown == 0 && !j.blocked:
		return report.EFA
	default:
		return report.Inconclusive
	}
}

// comm judges one communicator that spans nodes.
func (j *runJudge) comm(c *comm) {
	j.members(c)
	used := c.crosses()
	nets := map[string]int{}
	for _, cl := range c.claims {
		j.dedup(cl)
		j.entered(c, cl, used)
		for _, u := range cl.nets {
			nets[u.name]++
		}
	}
	if used && len(nets) > 1 {
		j.block(TwoNetworks, -1, c.claims[0].first(), "communicator "+c.key+": "+joinCounts(nets))
	}
	if !used {
		j.unused(c, nets)
		return
	}
	collective := false
	for _, cl := range c.claims {
		collective = j.channels(c, cl) || collective
	}
	held := c.held()
	c.alike = c.nodes < 1 || int32(c.hosts()) < c.nodes
	for _, cl := range c.claims {
		j.rank(c, cl)
		if collective {
			j.connected(c, cl, held)
		}
	}
}

// unused notes a communicator that carried nothing. One that would have used
// another network or provider is no harmless note: its channels may only be out
// of sight.
func (j *runJudge) unused(c *comm, nets map[string]int) {
	j.found.add(UnusedCommunicator, -1, c.claims[0].first(), "communicator "+c.key)
	for name := range nets {
		if !efaNetwork(name) {
			j.block(OtherNetwork, -1, c.claims[0].first(), "communicator "+c.key+" would use "+name)
		}
	}
	for _, cl := range c.claims {
		if provider, failed, r := j.provider(cl); failed {
			j.block(ProviderFailedLater, cl.rank, r, "communicator "+c.key)
		} else if provider != "" && provider != efaProvider {
			j.block(ProviderNotEFA, cl.rank, r, "communicator "+c.key+" would use the provider "+provider)
		}
	}
}

// entered checks that a rank which began to join got further than its START.
// Traffic shows that only in its process's first communicator: channel lines name
// none and are given to the youngest, so they may be an earlier one's.
func (j *runJudge) entered(c *comm, cl *claim, used bool) {
	eldest := cl.members[0].proc.members[0]
	if cl.unfinished() && (!used || cl.members[0] != eldest) {
		j.block(InitIncomplete, cl.rank, cl.first(), "communicator "+c.key)
	}
}

// members checks that every rank of the communicator is in evidence.
func (j *runJudge) members(c *comm) {
	if c.sizes {
		j.block(SizeConflict, -1, c.claims[0].first(), "communicator "+c.key)
	}
	n, first := c.missing()
	if n > 0 {
		rank := int32(-1)
		if n == 1 {
			rank = first[0]
		}
		j.block(RankMissing, rank, ref{file: c.claims[0].members[0].proc.file},
			fmt.Sprintf("communicator %s: %d of %d ranks missing (%s)", c.key, n, c.size, listRanks(first, n)))
		if h := c.hosts(); int32(h) < c.nodes {
			j.block(NodeMissing, -1, ref{file: c.claims[0].members[0].proc.file},
				fmt.Sprintf("communicator %s: %d hosts in evidence, %d nodes", c.key, h, c.nodes))
		}
	} else if h := c.hosts(); int32(h) < c.nodes {
		j.found.add(HostsShareName, -1, c.claims[0].first(), "")
	}
	if c.stale {
		j.found.add(StaleRun, -1, c.claims[0].first(), "communicator "+c.key)
	}
}

// dedup marks the run when a rank is known from Ray's de-duplicated output only.
func (j *runJudge) dedup(cl *claim) {
	j.tainted = j.tainted || !cl.clean()
}

// rank checks what a rank says about itself: its network and its provider.
func (j *runJudge) rank(c *comm, cl *claim) {
	if len(cl.nets) == 0 {
		j.block(NetworkUnknown, cl.rank, cl.first(), "communicator "+c.key)
	}
	for _, u := range cl.nets {
		if !efaNetwork(u.name) {
			j.block(OtherNetwork, cl.rank, u.ref, "the rank uses "+u.name)
			return
		}
	}
	provider, failed, r := j.provider(cl)
	switch {
	case failed:
		j.block(ProviderFailedLater, cl.rank, r, "")
	case provider == "":
		j.block(ProviderUnknown, cl.rank, cl.first(), "")
	case provider != efaProvider:
		j.block(ProviderNotEFA, cl.rank, r, "the provider is "+provider)
	case c.alike:
		if lost := cl.lost(); lost != "" {
			j.block(ProviderNotEFA, cl.rank, r, "one of the hosts that share a name selected "+lost)
		}
	}
}

// channels counts the rank's channels by class and reports whether it opened a
// collective one between nodes.
func (j *runJudge) channels(c *comm, cl *claim) (collective bool) {
	final, _, _ := j.provider(cl)
	clean := cl.clean()
	for _, m := range cl.members {
		// A driver's copy is in no reliable order, but what it shows off EFA was.
		copied := clean && m.proc.file.repeats > 0
		for i := range m.tallies {
			t := &m.tallies[i]
			if copied && efaNetwork(networkOf(t.label)) {
				continue
			}
			mnnvl := classLocal
			if t.medium == mediumMNNVL {
				mnnvl = c.mnnvl(cl, t)
			}
			k := classify(t, final, mnnvl)
			j.count(k, t, cl.rank)
			if k == classLocal {
				continue
			}
			collective = collective || !t.p2p
			if t.p2p && !j.opts.Completed {
				j.block(PointToPointUnproven, cl.rank, t.first, "")
			}
			if t.medium == mediumNet && len(cl.nets) > 0 && !cl.uses(networkOf(t.label)) {
				j.block(NetworkMismatch, cl.rank, t.first, "")
			}
		}
	}
	return collective
}

// count adds one tally to the run's balance and names what is not EFA.
func (j *runJudge) count(k class, t *tally, rank int32) {
	switch k {
	case classEFA:
		j.efa++
	case classOther:
		j.other++
		switch {
		case t.medium == mediumMNNVL:
			j.block(MNNVLBetweenNodes, rank, t.first, "")
		case efaNetwork(networkOf(t.label)):
			j.block(ProviderNotEFA, rank, t.first, "channels of "+t.label)
		default:
			j.block(OtherNetwork, rank, t.first, "channels over "+t.label)
		}
	case classUnknown:
		j.unknown++
		if t.medium != mediumNet {
			j.block(UnknownTransport, rank, t.first, t.label)
		} else {
			j.block(ProviderUnknown, rank, t.first, "channels of "+t.label)
		}
	}
}

// mnnvl says what NVLink channels of a rank mean. NCCL prints P2P/MNNVL for
// every pair once multi-node NVLink is on, inside a host too. Between hosts it
// is an inter-node transport that is not EFA: such a run has not proven EFA,
// however fast it is. Where hosts may share a name, nobody can tell.
func (c *comm) mnnvl(cl *claim, t *tally) class {
	if len(t.peers) > maxPeers {
		return classUnknown
	}
	shared := int32(c.hosts()) < c.nodes
	for _, peer := range t.peers {
		i, ok := slices.BinarySearchFunc(c.claims, peer, func(x *claim, r int32) int { return int(x.rank - r) })
		switch {
		case !ok:
			return classUnknown
		case c.claims[i].host != cl.host:
			return classOther
		case shared:
			return classUnknown
		}
	}
	return classLocal
}

// provider returns what the rank's process selected last, over all views of it.
// A view that selected nothing is silent; one that failed or selected something
// else is returned before one that says efa.
func (j *runJudge) provider(cl *claim) (name string, failed bool, where ref) {
	clean := cl.clean()
	for _, m := range cl.members {
		for _, p := range append([]*process{m.proc}, j.ev.aux[m.proc]...) {
			if clean && p.file.repeats > 0 {
				continue // a driver's copy, whose last line may not be the last printed
			}
			n, f := p.provided()
			switch {
			case f:
				return n, true, p.failure
			case n != "" && n != efaProvider:
				return n, false, p.chosen
			case n != "":
				name, where = n, p.chosen
			}
		}
	}
	return name, false, where
}

// torn blocks the proof while torn channel lines could hide something: they may
// be any run's.
func (j *runJudge) torn() {
	for _, f := range j.ev.files {
		if f.torn > 0 && f.repeats == 0 {
			j.blocked = true
		}
	}
}

// listRanks names the first of n ranks.
func listRanks(first []int32, n int) string {
	words := make([]string, 0, len(first)+1)
	for _, r := range first {
		words = append(words, fmt.Sprint(r))
	}
	if n > len(first) {
		words = append(words, "...")
	}
	return strings.Join(words, ", ")
}

// joinCounts renders "AWS Libfabric on 8 ranks, Socket on 8 ranks".
func joinCounts(nets map[string]int) string {
	words := make([]string, 0, len(nets))
	for _, name := range slices.Sorted(maps.Keys(nets)) {
		words = append(words, fmt.Sprintf("%s on %d ranks", name, nets[name]))
	}
	return strings.Join(words, ", ")
}

func orUnknown(n int) string {
	if n == 0 {
		return "an unknown number"
	}
	return fmt.Sprint(n)
}
