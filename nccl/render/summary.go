package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// summary is what every format for people begins with.
type summary struct {
	// Headline is one sentence for readers who know nothing about NCCL.
	Headline string
	// Next is the one thing to do, and Code the finding that asks for it; "" for none.
	Next, Code string
	// Counts is the number of findings of each severity.
	Counts string
	// Findings are the errors and warnings, Notes the rest, Proof the lines that the verdict is
	// based on.
	Findings, Notes, Proof []report.Finding
}

func summarize(r report.Report) summary {
	s := summary{Headline: headline(r)}
	for _, f := range bySeverity(r.Findings) {
		switch {
		case f.IsProof():
			s.Proof = append(s.Proof, f)
		case f.Severity == report.Note:
			s.Notes = append(s.Notes, f)
		default:
			s.Findings = append(s.Findings, f)
		}
	}
	s.Counts = counts(s)
	s.Next = "nothing to do: EFA is proven"
	if r.Verdict != report.EFA {
		s.Next = "set NCCL_DEBUG=INFO, run the job again and judge the logs of every rank"
		if len(s.Findings) > 0 {
			s.Next, s.Code = s.Findings[0].Next, s.Findings[0].Code
		}
	} else if len(s.Findings) > 0 {
		s.Next = "nothing required: EFA is proven; see the warnings"
	}
	return s
}

// headline answers whether the traffic between nodes used EFA.
func headline(r report.Report) string {
	between := "between nodes"
	if r.Nodes != nil && *r.Nodes > 1 {
		between = fmt.Sprintf("between its %d nodes", *r.Nodes)
	}
	others := strings.Join(otherNetworks(r), " and ")
	switch r.Verdict {
	case report.EFA:
		all := "every rank"
		if r.WorldSize != nil {
			all = fmt.Sprintf("all %d ranks", *r.WorldSize)
		}
		return fmt.Sprintf("The job used EFA. The logs prove it for all traffic %s, on %s.", between, all)
	case report.NotEFA:
		if others == "" {
			others = "another network"
		}
		return fmt.Sprintf("The job did not use EFA: the traffic %s used %s.", between, others)
	case report.Mixed:
		if others == "" {
			others = "another network"
		}
		return fmt.Sprintf("The job used EFA only in part: some of its traffic %s used %s.", between, others)
	default:
		return fmt.Sprintf("The logs do not prove which network the job used %s.", between)
	}
}

// otherNetworks lists in plain words what the ranks used between nodes that is not EFA.
func otherNetworks(r report.Report) []string {
	names := map[string]bool{}
	for _, k := range r.Ranks {
		if k.Traffic != report.TrafficOther {
			continue
		}
		for kind := range k.Channels {
			network, isNet := strings.CutPrefix(kind, "NET/")
			switch {
			case isNet && isLibfabric(network):
				for name := range strings.SplitSeq(k.Provider, ", ") {
					if base, _, _ := strings.Cut(name, ";"); base != "efa" && base != "" {
						names[plainProvider(base)] = true
					}
				}
			case isNet:
				names[plainNetwork(network)] = true
			case kind == "P2P/MNNVL":
				names["NVLink between nodes"] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// isLibfabric reports whether a network is aws-ofi-nccl's, by any of its names.
func isLibfabric(network string) bool {
	return slices.Contains([]string{"AWS Libfabric", "Libfabric", "OFI"}, network)
}

// plainProvider returns what a libfabric provider is called outside libfabric.
func plainProvider(name string) string {
	if name == "tcp" || name == "sockets" {
		return "TCP through libfabric"
	}
	return "libfabric's provider " + name
}

// plainNetwork returns what a network is called outside NCCL.
func plainNetwork(network string) string {
	switch {
	case network == "Socket":
		return "TCP sockets"
	case strings.HasPrefix(network, "IB"): // IB, and IBext with the version of its plugin
		return "InfiniBand or RoCE"
	default:
		return network
	}
}

// bySeverity sorts findings, errors first; findings of one severity keep their order.
func bySeverity(list []report.Finding) []report.Finding {
	order := []report.Severity{report.Error, report.Warning}
	weight := func(f report.Finding) int {
		if i := slices.Index(order, f.Severity); i >= 0 {
			return i
		}
		return len(order)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b report.Finding) int { return weight(a) - weight(b) })
	return list
}

// counts returns how many findings a report lists, such as "1 error, 2 notes, 4 proof lines".
func counts(s summary) string {
	errors := 0
	for _, f := range s.Findings {
		if f.Severity == report.Error {
			errors++
		}
	}
	var words []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{errors, "error"}, {len(s.Findings) - errors, "warning"},
		{len(s.Notes), "note"}, {len(s.Proof), "proof line"},
	} {
		if c.n > 0 {
			words = append(words, plural(c.n, c.what))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// extent returns how much of the run is in evidence, such as "7 of 8 ranks in evidence, 2 nodes".
func extent(r report.Report) string {
	nodes := "? nodes"
	if r.Nodes != nil {
		nodes = plural(*r.Nodes, "node")
	}
	return fmt.Sprintf("%s of %s ranks in evidence, %s",
		number(r.RanksSeen, "?"), number(r.WorldSize, "?"), nodes)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}

func itoa(n int) string { return strconv.Itoa(n) }

// number renders a number that the evidence may not show.
func number(n *int, unknown string) string {
	if n == nil {
		return unknown
	}
	return itoa(*n)
}
