package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// comm judges one communicator that spans nodes.
func (j *runJudge) comm(c *model.Communicator) {
	j.members(c)
	used := c.Crosses()
	nets := map[string]int{}
	for _, rk := range c.Ranks {
		j.dedup(rk)
		j.entered(c, rk, used)
		for _, u := range rk.Networks {
			nets[u.Name]++
		}
	}
	if used && len(nets) > 1 {
		j.block(finding.TwoNetworks, noRank, c.Ranks[0].First(), "communicator "+c.Key+": "+joinCounts(nets))
	}
	if !used {
		j.unused(c)
		return
	}
	collective, before := false, j.efa
	for _, rk := range c.Ranks {
		collective = j.channels(c, rk) || collective
	}
	if j.efa > before && !j.hosts(c) {
		j.efa = before
	}
	held := c.Held()
	c.AmbiguousHosts = c.Nodes < 1 || int32(c.Hosts()) < c.Nodes
	for _, rk := range c.Ranks {
		j.rank(c, rk)
		if collective {
			j.connected(c, rk, held)
		}
	}
}

// members checks that every rank of the communicator is in evidence.
func (j *runJudge) members(c *model.Communicator) {
	if c.SizesConflict {
		j.block(finding.SizeConflict, noRank, c.Ranks[0].First(), "communicator "+c.Key)
	}
	n, first := c.Missing()
	if n > 0 {
		rank := int32(-1)
		if n == 1 {
			rank = first[0]
		}
		j.block(finding.RankMissing, rank, model.Ref{File: c.Ranks[0].Views[0].Proc.File},
			fmt.Sprintf("communicator %s: %d of %d ranks missing (%s)", c.Key, n, c.Size, listRanks(first, n)))
		if h := c.Hosts(); int32(h) < c.Nodes {
			j.block(finding.NodeMissing, noRank, model.Ref{File: c.Ranks[0].Views[0].Proc.File},
				fmt.Sprintf("communicator %s: %d hosts in evidence, %d nodes", c.Key, h, c.Nodes))
		}
	} else if one := c.DistinctHosts() < 2 && c.HostsCertain(); !one && int32(c.Hosts()) < c.Nodes {
		j.found.add(finding.HostsShareName, noRank, c.Ranks[0].First(), "")
	}
	if c.Stale {
		j.found.add(finding.StaleRun, noRank, c.Ranks[0].First(), "communicator "+c.Key)
	}
}

// dedup marks the run if a rank appears only in Ray's de-duplicated output.
func (j *runJudge) dedup(rk *model.Rank) {
	j.deduplicated = j.deduplicated || !rk.Clean()
}

// entered checks that a rank that started to join a communicator also finished. Channels are proof
// only for the first communicator of a process: channel lines do not name their communicator and
// are assigned to the newest one.
func (j *runJudge) entered(c *model.Communicator, rk *model.Rank, used bool) {
	if rk.Unfinished() && (!used || !rk.FirstOfProcess()) {
		j.block(finding.InitIncomplete, rk.Rank, rk.First(), "communicator "+c.Key)
	}
}

// hosts checks that the communicator's channels over EFA join hosts that the evidence
// distinguishes: traffic inside one host proves nothing, even if nNodes is larger than 1. It
// reports whether the channels can be proof. A communicator that is certainly inside one host does
// not block the verdict of others.
func (j *runJudge) hosts(c *model.Communicator) (prove bool) {
	if missing, _ := c.Missing(); missing > 0 {
		return true // RankMissing blocks the verdict
	}
	first := c.Ranks[0]
	detail := "communicator " + c.Key + ": all ranks on " + strings.Join(slices.Sorted(maps.Keys(c.RanksByHost())), ", ")
	switch isolated := c.IsolatedHost(); {
	case c.DistinctHosts() < 2 && c.HostsCertain():
		j.found.add(finding.OneHost, noRank, first.First(), detail)
		return false
	case c.DistinctHosts() < 2:
		j.block(finding.OneHost, noRank, first.First(), detail)
	case isolated != nil:
		j.block(finding.OneHost, isolated.Rank, isolated.First(),
			"communicator "+c.Key+": no channel from "+isolated.Host+" to another host")
	}
	for _, r := range c.Ranks {
		if r.Redacted() {
			j.block(finding.HostsRedacted, r.Rank, r.First(), "")
		}
	}
	return true
}

// contradicted counts channels off EFA in a communicator that has one node according to NCCL but
// several hosts according to its ranks.
func (j *runJudge) contradicted(c *model.Communicator) {
	for _, rk := range c.Ranks {
		for _, v := range rk.Views {
			for i := range v.Tallies {
				t := &v.Tallies[i]
				if t.Medium == record.MediumNet && !record.IsEFANetwork(record.NetworkOf(t.Label)) {
					j.count(report.TrafficOther, t, rk.Rank)
				}
			}
		}
	}
}

// unused adds a note for a communicator without traffic. If its network or provider is not EFA, it
// blocks the verdict efa, because its channels may be missing from the logs.
func (j *runJudge) unused(c *model.Communicator) {
	if !slices.ContainsFunc(c.Ranks, (*model.Rank).Unfinished) {
		j.found.add(finding.UnusedCommunicator, noRank, c.Ranks[0].First(), "communicator "+c.Key)
	}
	for _, rk := range c.Ranks {
		for _, u := range rk.Networks {
			if !record.IsEFANetwork(u.Name) {
				j.blockVariant(finding.Chosen, finding.OtherNetwork, rk.Rank, u.Ref, "communicator "+c.Key+" would use "+u.Name)
			}
		}
	}
	for _, rk := range c.Ranks {
		if provider, failed, r := j.provider(rk); failed {
			j.block(finding.ProviderFailedLater, rk.Rank, r, "communicator "+c.Key)
		} else if provider != "" && provider != record.EFAProvider {
			j.blockVariant(finding.Chosen, finding.ProviderNotEFA, rk.Rank, r, "communicator "+c.Key+" would use the provider "+provider)
		}
	}
}

// joinCounts renders "AWS Libfabric on 8 ranks, Socket on 8 ranks".
func joinCounts(nets map[string]int) string {
	words := make([]string, 0, len(nets))
	for _, name := range slices.Sorted(maps.Keys(nets)) {
		ranks := "ranks"
		if nets[name] == 1 {
			ranks = "rank"
		}
		words = append(words, fmt.Sprintf("%s on %d %s", name, nets[name], ranks))
	}
	return strings.Join(words, ", ")
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
