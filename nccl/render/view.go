// Package render writes a transport report for machines that show test results
// (JUnit) and as one self-contained HTML page for people.
package render

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// class is what a cell of a picture is colored by.
type class string

const (
	classEFA     class = "efa"     // over the network, on EFA
	classOther   class = "other"   // over the network, on anything else
	classUnknown class = "unknown" // over the network, but the evidence does not say on what
	classLocal   class = "local"   // inside a node
	classIdle    class = "idle"    // in evidence, but with no connection of its own
	classMissing class = "missing" // not in evidence
)

// classes lists the classes from the most to the least alarming, with what the
// legend says.
func classes() []legend {
	return []legend{
		{classOther, "not EFA", "inter-node, on sockets, tcp, InfiniBand or another network"},
		{classMissing, "no evidence", "a rank of which no line was found"},
		{classUnknown, "unknown", "inter-node, but no line says on which provider"},
		{classEFA, "EFA", "inter-node, on the libfabric provider efa"},
		{classLocal, "inside the node", "P2P or shared memory"},
		{classIdle, "no connection", "in evidence, without a connection of its own"},
	}
}

type legend struct {
	Class       class
	Name, About string
}

// weight orders classes: in a cell that stands for many, the heaviest shows.
func (c class) weight() int {
	all := classes()
	for i, l := range all {
		if l.Class == c {
			return len(all) - i
		}
	}
	return 0
}

func heavier(a, b class) class {
	if b.weight() > a.weight() {
		return b
	}
	return a
}

// classOf says on what a connection is, from its transport and the provider of
// its process.
func classOf(kind, provider string) class {
	net, isNet := strings.CutPrefix(kind, "NET/")
	if !isNet {
		if kind == "P2P" || kind == "SHM" || strings.HasPrefix(kind, "P2P/") || strings.HasPrefix(kind, "SHM/") {
			return classLocal
		}
		return classOther
	}
	if !slices.Contains([]string{"AWS Libfabric", "Libfabric", "OFI"}, net) {
		return classOther
	}
	base, _, _ := strings.Cut(provider, ";")
	switch base {
	case "efa":
		return classEFA
	case "":
		return classUnknown
	default:
		return classOther
	}
}

// classOfRank is the heaviest class of a rank's connections over the network.
func classOfRank(r report.Rank) class {
	worst := classIdle
	for kind := range r.Channels {
		worst = heavier(worst, classOf(kind, r.Provider))
	}
	return worst
}

// tile is one rank in a picture.
type tile struct {
	Rank  int
	Class class
	Host  string
	Title string
}

// node is one node with its ranks.
type node struct {
	Name  string
	Tiles []tile
}

// nodes sorts the ranks of the report, and those that are missing from it, into
// nodes. guessed says that hosts share names, so that ranks were dealt out in
// equal shares in their order.
func nodes(r report.Report) (list []node, guessed bool) {
	known := map[int]report.Rank{}
	hosts := map[string]bool{}
	size := 0
	for _, rk := range r.Ranks {
		known[rk.Rank] = rk
		hosts[rk.Host] = true
		size = max(size, rk.Rank+1)
	}
	if r.WorldSize != nil {
		size = min(max(size, *r.WorldSize), maxRanks)
	}
	share := 0
	if r.Nodes != nil && *r.Nodes > len(hosts) && size%*r.Nodes == 0 {
		share = size / *r.Nodes
		guessed = len(r.Ranks) == size
	}
	at := map[string]int{}
	for i := range size {
		rk, seen := known[i]
		t := tile{Rank: i, Class: classMissing, Host: rk.Host, Title: title(i, rk, seen)}
		if seen {
			t.Class = classOfRank(rk)
		}
		name := nodeName(i, rk, seen, share, guessed, list)
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

// nodeName says which node a rank is drawn in: its host; a share of the ranks
// where hosts share names; and for a missing rank the node of the rank before
// it, unless shares say that a new node begins.
func nodeName(i int, rk report.Rank, seen bool, share int, guessed bool, list []node) string {
	switch {
	case guessed:
		return "node " + itoa(i/share)
	case seen:
		return rk.Host
	case share > 0 && (i%share == 0 || len(list) == 0):
		return "node of rank " + itoa(i)
	case len(list) > 0:
		return list[len(list)-1].Name
	default:
		return "unknown node"
	}
}

func title(i int, rk report.Rank, seen bool) string {
	if !seen {
		return "rank " + itoa(i) + ": no evidence"
	}
	var b strings.Builder
	b.WriteString("rank " + itoa(i) + " on " + rk.Host)
	if rk.Network != "" {
		b.WriteString(", network " + rk.Network)
	}
	if rk.Provider != "" {
		b.WriteString(", provider " + rk.Provider)
	}
	for _, kind := range sortedKeys(rk.Channels) {
		b.WriteString(", " + itoa(rk.Channels[kind]) + " x " + kind)
	}
	return b.String()
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
