// Package report has the types of a judged run: the verdict, the findings that explain it and the
// table of ranks. Package nccl creates reports, and nccl/render writes them.
package report

import (
	"slices"
	"strings"
)

// Verdict answers whether the traffic of every rank between nodes used EFA.
type Verdict string

// The four verdicts. Only EFA passes a gate. Missing evidence is Inconclusive.
const (
	// EFA means that every communicator that spans nodes is proven, rank by rank.
	EFA Verdict = "efa"
	// NotEFA means that all traffic between nodes in evidence is on something else.
	NotEFA Verdict = "not-efa"
	// Mixed means that part of the traffic between nodes is on EFA, part is not.
	Mixed Verdict = "mixed"
	// Inconclusive means that the evidence does not prove either; findings list what is missing.
	Inconclusive Verdict = "inconclusive"
)

// ExitCode returns the exit status of `raytrain verdict`: 0 efa, 2 not-efa, 3 mixed,
// 4 inconclusive. Status 1 is for usage and I/O errors.
func (v Verdict) ExitCode() int {
	switch v {
	case EFA:
		return 0
	case NotEFA:
		return 2
	case Mixed:
		return 3
	default:
		return 4
	}
}

// Severity ranks a finding.
type Severity string

// A finding of severity Error decided or blocked the verdict, Warning needs a look, and Note is
// context.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Traffic is what a connection uses or, for a rank or communicator, its worst connection. The order
// from worst to best is Other, Unknown, EFA, Local, None.
type Traffic string

// Between nodes, connections use EFA, something else, or a network that the evidence does not show.
// A connection inside a node is Local, and None is a rank without a connection.
const (
	TrafficEFA     Traffic = "efa"
	TrafficOther   Traffic = "other"
	TrafficUnknown Traffic = "unknown"
	TrafficLocal   Traffic = "local"
	TrafficNone    Traffic = "none"
)

// Worse returns the worse of two kinds of traffic.
func (t Traffic) Worse(u Traffic) Traffic {
	order := []Traffic{TrafficNone, TrafficLocal, TrafficEFA, TrafficUnknown, TrafficOther}
	if slices.Index(order, u) > slices.Index(order, t) {
		return u
	}
	return t
}

// Report is the outcome of one judgement. Its JSON form is a contract with other tools. A number
// that the evidence does not show is null, never 0.
type Report struct {
	Verdict       Verdict        `json:"verdict"`
	WorldSize     *int           `json:"worldSize"`
	RanksSeen     *int           `json:"ranksSeen"`
	Nodes         *int           `json:"nodes"`
	Communicators []Communicator `json:"communicators"`
	Ranks         []Rank         `json:"ranks"`
	Findings      []Finding      `json:"findings"`
	// Rehearsed reports that a rehearsal's stand-in for NCCL wrote the logs.
	Rehearsed bool `json:"rehearsed,omitempty"`
	// Edges are for pictures only and not part of the JSON contract. Pairs beyond MaxEdges may be
	// missing.
	Edges []Edge `json:"-"`
}

// MaxEdges bounds Report.Edges: an all-to-all of thousands of ranks must not take memory that grows
// with their square.
const MaxEdges = 1 << 16

// Edge is what channel lines show about one direction between two ranks.
type Edge struct {
	// From and To are numbers of Report.Ranks.
	From, To int
	// Transport is a key as in Rank.Channels, such as "NET/Libfabric" or "P2P".
	Transport string
	// Channels counts the channels that either end printed.
	Channels int
	Traffic  Traffic
}

// Communicator is one NCCL communicator as the logs show it.
type Communicator struct {
	// ID is the commId, or parent/splitCount/color for a split one.
	ID string `json:"id"`
	// Size is its number of ranks (nRanks); null when no line shows it.
	Size *int `json:"size"`
	// Nodes is NCCL's own count of hosts (nNodes); null when no line shows it.
	Nodes     *int `json:"nodes"`
	RanksSeen int  `json:"ranksSeen"`
	// Network is the plugin's name from `Using network`; several are joined by ", ".
	Network string `json:"network"`
	// Provider is the libfabric provider; several are joined by ", ".
	Provider string `json:"provider"`
	// Channels counts channel lines by transport, such as "NET/Libfabric" or "P2P".
	Channels  map[string]int `json:"channels"`
	Connected bool           `json:"connected"`
	// Run numbers the runs in evidence from 1, in order of appearance.
	Run     int     `json:"run,omitempty"`
	Traffic Traffic `json:"traffic,omitempty"`
}

// Rank is one rank of the run that decided the verdict, with the process behind it. Network,
// Provider and Channels are those of Communicator, the one that decided about the rank.
type Rank struct {
	// Rank is the number in the largest communicator that the rank joined.
	Rank int    `json:"rank" pulumi:"rank"`
	Host string `json:"host" pulumi:"host"`
	PID  int    `json:"pid" pulumi:"pid"`
	// Node is Ray's id of the node that the rank ran on; empty when unknown.
	Node     string         `json:"node,omitempty" pulumi:"node,optional"`
	File     string         `json:"file" pulumi:"file"`
	Network  string         `json:"network" pulumi:"network"`
	Provider string         `json:"provider" pulumi:"provider"`
	Channels map[string]int `json:"channels" pulumi:"channels"`
	// Communicator and Run are the ID and Run of a communicator in the report.
	Communicator string  `json:"communicator,omitempty"`
	Run          int     `json:"run,omitempty"`
	Traffic      Traffic `json:"traffic,omitempty" pulumi:"traffic,optional"`
}

// Finding is one thing that the evidence shows, with the line that it is based on.
type Finding struct {
	// Code is stable and kebab-case, such as "plugin-not-found".
	Code     string   `json:"code" pulumi:"code"`
	Severity Severity `json:"severity" pulumi:"severity"`
	// Rank is the rank concerned; null when it concerns the run.
	Rank *int   `json:"rank" pulumi:"rank,optional"`
	File string `json:"file" pulumi:"file"`
	// Line is 1-based; 0 when the finding is based on something absent.
	Line int    `json:"line" pulumi:"line"`
	Text string `json:"text" pulumi:"text"`
	// Cause is why it happened, Next what to do or run about it.
	Cause string `json:"cause" pulumi:"cause"`
	Next  string `json:"next" pulumi:"next"`
}

// IsProof reports whether the finding is a line that the verdict is based on, rather than something
// to explain or fix.
func (f Finding) IsProof() bool { return strings.HasPrefix(f.Code, "proof-") }
