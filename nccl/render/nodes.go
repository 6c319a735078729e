package render

import (
	"maps"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// maxRanks bounds what is drawn and listed.
const maxRanks = 1 << 14

// tile is one rank in a picture.
type tile struct {
	Rank    int
	Traffic report.Traffic
	Title   string
}

// node is one node with its ranks.
type node struct {
	Name  string
	Tiles []tile
}

// nodes groups the ranks by node, including missing ranks. guessed reports whether hosts share
// names; nodes then get equal shares of the ranks, in their order.
func nodes(r report.Report) (list []node, guessed bool) {
	known := map[int]report.Rank{}
	hosts := map[string]bool{}
	size := 0
	for _, k := range r.Ranks {
		known[k.Rank] = k
		hosts[k.Host] = true
		size = max(size, k.Rank+1)
	}
	if r.WorldSize != nil {
		size = max(size, *r.WorldSize)
	}
	size = min(size, maxRanks)
	share := 0
	if r.Nodes != nil && *r.Nodes > len(hosts) && size%*r.Nodes == 0 {
		share = size / *r.Nodes
		guessed = len(r.Ranks) == size
	}
	at := map[string]int{}
	for i := range size {
		k, seen := known[i]
		t := tile{Rank: i, Traffic: missing, Title: "rank " + itoa(i) + ": no evidence"}
		if seen {
			t.Traffic, t.Title = k.Traffic, tileTitle(k)
		}
		name := nodeName(i, k, seen, share, guessed, list)
		n, ok := at[name]
		if !ok {
			n = len(list)
			at[name] = n
			list = append(list, node{Name: name})
		}
		list[n].Tiles = append(list[n].Tiles, t)
	}
	return list, guessed
}

// nodeName returns the node that a rank is drawn in: its host; a share of the ranks where hosts
// share names; for a missing rank the node of the rank before it, unless a share begins with it.
func nodeName(i int, k report.Rank, seen bool, share int, guessed bool, list []node) string {
	switch {
	case guessed:
		return "node " + itoa(i/share)
	case seen && k.Host != "":
		return k.Host
	case seen:
		return "unknown host"
	case share > 0 && (i%share == 0 || len(list) == 0):
		return "node of rank " + itoa(i)
	case len(list) > 0:
		return list[len(list)-1].Name
	default:
		return "unknown node"
	}
}

func tileTitle(k report.Rank) string {
	var b strings.Builder
	b.WriteString("rank " + itoa(k.Rank) + " on " + k.Host)
	if k.Network != "" {
		b.WriteString(", network " + k.Network)
	}
	if k.Provider != "" {
		b.WriteString(", provider " + k.Provider)
	}
	b.WriteString(kindsText(k.Channels))
	return b.String()
}

// kindsText renders counts by transport as ", 4 x NET/Libfabric, 2 x P2P".
func kindsText(kinds map[string]int) string {
	var b strings.Builder
	for _, k := range sortedKeys(kinds) {
		b.WriteString(", " + itoa(kinds[k]) + " x " + k)
	}
	return b.String()
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
