package render

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// class says what a connection, a rank or a communicator uses. It colors pictures and tables.
type class string

const (
	classEFA     class = "efa"     // between nodes, on EFA
	classOther   class = "other"   // between nodes, on anything else
	classUnknown class = "unknown" // between nodes, but the evidence does not show on what
	classLocal   class = "local"   // inside a node
	classIdle    class = "idle"    // in evidence, but with no connection of its own
	classMissing class = "missing" // not in evidence
)

// legend explains a class.
type legend struct {
	Class       class
	Name, About string
}

// classes lists the classes, the most alarming first.
func classes() []legend {
	return []legend{
		{classOther, "not EFA", "between nodes, on sockets, tcp, InfiniBand or another network"},
		{classMissing, "no evidence", "a rank for which no line was found"},
		{classUnknown, "unknown", "between nodes, but no line shows the provider"},
		{classEFA, "EFA", "between nodes, on the libfabric provider efa"},
		{classLocal, "inside the node", "P2P or shared memory"},
		{classIdle, "no connection", "in evidence, without a connection of its own"},
	}
}

// weight orders classes: a cell that stands for many shows the heaviest.
func (c class) weight() int {
	all := classes()
	return len(all) - 1 - slices.IndexFunc(all, func(l legend) bool { return l.Class == c })
}

// alarm is 1 for a class that needs a look, else 0.
func (c class) alarm() int {
	if c == classOther || c == classUnknown || c == classMissing {
		return 1
	}
	return 0
}

func heavier(a, b class) class {
	if b.weight() > a.weight() {
		return b
	}
	return a
}

// classOf returns the class of a connection from its transport and its process's provider.
func classOf(kind, provider string) class {
	network, isNet := strings.CutPrefix(kind, "NET/")
	transport, _, _ := strings.Cut(kind, "/")
	switch {
	case !isNet && (transport == "P2P" || transport == "SHM"):
		return classLocal
	case !isNet || !isLibfabric(network):
		return classOther
	}
	switch base, _, _ := strings.Cut(provider, ";"); base {
	case "efa":
		return classEFA
	case "":
		return classUnknown
	default:
		return classOther
	}
}

// isLibfabric reports whether a network is aws-ofi-nccl's, by any of its names.
func isLibfabric(network string) bool {
	return slices.Contains([]string{"AWS Libfabric", "Libfabric", "OFI"}, network)
}

func classOfRank(r report.Rank) class { return worst(r.Channels, r.Provider) }

func classOfCommunicator(c report.Communicator) class { return worst(c.Channels, c.Provider) }

func worst(channels map[string]int, provider string) class {
	c := classIdle
	for kind := range channels {
		c = heavier(c, classOf(kind, provider))
	}
	return c
}
