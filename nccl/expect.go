package nccl

import "fmt"

// expectations compares the widest communicator with what was asked for.
func (j *runJudge) expectations() {
	c := widest(j.run.comms)
	if c == nil {
		return
	}
	if want := j.opts.WorldSize; want > 0 && int(c.size) != want {
		j.block(WorldSizeMismatch, -1, c.claims[0].first(), fmt.Sprintf("%d ranks asked for, %d found", want, c.size))
	}
	if want, have := j.opts.Nodes, c.nodeCount(); want > 0 && have != want {
		j.block(NodesMismatch, -1, c.claims[0].first(), fmt.Sprintf("%d nodes asked for, %s found", want, orUnknown(have)))
	}
	if want := j.opts.Provider; want != "" && want != efaProvider && j.efa > 0 {
		j.block(ProviderUnexpected, -1, ref{}, fmt.Sprintf("%q was asked for", want))
	}
}

// nodeCount is NCCL's count of nodes or, where its version prints none and all
// ranks are in evidence, the number of host names; 0 when unknown, as when
// hosts share one name.
func (c *comm) nodeCount() int {
	if c.nodes > 0 {
		return int(c.nodes)
	}
	if n, _ := c.missing(); n > 0 {
		return 0
	}
	if n := c.hosts(); n > 1 {
		return n
	}
	return 0
}
