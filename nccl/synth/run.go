// Package synth writes synthetic NCCL logs whose verdict is known by construction. It shares no
// code with package nccl: its line forms were written from the log grammar, so that parser errors
// show as wrong verdicts.
//
// A Run is a recipe (versions, topology, launcher, what went wrong, what the
// collected evidence lacks). Generate turns it into files and their Truth.
// The same Run always gives the same bytes.
package synth

import (
	"math/rand/v2"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Layout is how the lines of the processes reach files.
type Layout string

// The layouts.
const (
	// PerProcess is one file per process, as NCCL_DEBUG_FILE with %p gives.
	PerProcess Layout = "per-process"
	// Merged is one stream in which the processes' lines interleave.
	Merged Layout = "merged"
	// RaySession is Ray's folder: a .out file per worker and the driver's log, in which Ray dropped
	// repeated lines.
	RaySession Layout = "ray-session"
)

// Hosts is how the processes name their hosts.
type Hosts string

// The ways of naming hosts.
const (
	// Distinct gives each node its own name.
	Distinct Hosts = "distinct"
	// SameName gives all nodes one name, with different process numbers.
	SameName Hosts = "same-name"
	// SameNameAndPID also repeats the process numbers on every node, as
	// containers of one image do; only a file per process distinguishes them.
	SameNameAndPID Hosts = "same-name-and-pid"
	// Pods makes every process a pod, which NCCL counts as a node.
	Pods Hosts = "pods"
)

// Groups is the set of communicators that the job creates in addition to the one of all ranks.
type Groups string

// The communicator sets.
const (
	// World is one communicator of all ranks.
	World Groups = "world"
	// Split adds ncclCommSplit children: one per local rank across the nodes,
	// and one per node.
	Split Groups = "split"
	// Subsets adds the same children by a split each, in which the ranks outside
	// take part without a color.
	Subsets Groups = "subsets"
	// NestedSplit adds children of children.
	NestedSplit Groups = "nested-split"
	// Second adds another communicator of all ranks, with its own commId, after
	// the first was destroyed and its address was used again.
	Second Groups = "second"
	// UnusedSecond adds one that no rank ever uses.
	UnusedSecond Groups = "unused-second"
	// UnusedWorld never uses the communicator of all ranks, only its children.
	UnusedWorld Groups = "unused-world"
	// UnusedAll uses no communicator at all.
	UnusedAll Groups = "unused-all"
)

// Text is how the log text was changed on its way.
type Text string

// The manglings of text.
const (
	// Clean leaves the text alone.
	Clean Text = "clean"
	// CRLF ends lines with a carriage return and a line feed.
	CRLF Text = "crlf"
	// Progress puts progress bars, with a carriage return and no newline, before
	// some records.
	Progress Text = "progress"
	// Joined loses some newlines: a blank is left between two records.
	Joined Text = "joined"
	// JoinedTight loses some newlines and leaves nothing between two records.
	JoinedTight Text = "joined-tight"
	// TornNoise breaks lines that prove nothing and puts another line between.
	TornNoise Text = "torn-noise"
	// TornAny does so to any line.
	TornAny Text = "torn-any"
	// Binary adds bytes that are no UTF-8, NUL bytes and a line of a megabyte.
	Binary Text = "binary"
	// Quotes adds text that quotes good and bad NCCL lines, such as a README
	// that a job printed.
	Quotes Text = "quotes"
)

// Run is the recipe of one synthetic run.
type Run struct {
	Seed     uint64
	NCCL     Version
	Plugin   Version
	Nodes    int
	GPUs     int // per node
	Channels int
	// OneProcess runs all GPUs of a node as threads of one process.
	OneProcess bool
	Hosts      Hosts
	Groups     Groups
	Launcher   Launcher
	Stamp      Stamp
	Layout     Layout
	Text       Text
	Fabric     Fabric
	Damage     Damage
	// Pin is the value of NCCL_NET, which names the plugin from 1.13.0; "" leaves it unset.
	Pin string
	// Trees adds tree connections after the rings.
	Trees bool
	// Eager creates all communicators before any is used.
	Eager bool
	// NetInside uses the network between GPUs of one node too.
	NetInside bool
	// PointToPoint adds connections of index 1, which print no `Connected`.
	PointToPoint bool
	// Completed reports whether the judge knows that the job succeeded.
	Completed bool
	// Expect holds the expectations of the judge.
	Expect Expect
	// Next is a further run in the same body of evidence.
	Next *Run
	// NextInSameFiles appends the further run to the same files, by the same
	// process numbers, as a restarted pod does.
	NextInSameFiles bool
}

// Expect is how the world size and node count that the judge is given relate to the run.
type Expect string

// The expectations.
const (
	// Nothing gives the judge no expectation.
	Nothing Expect = "nothing"
	// Met gives it the true numbers.
	Met Expect = "met"
	// MoreRanks and MoreNodes expect more than there are.
	MoreRanks Expect = "more-ranks"
	MoreNodes Expect = "more-nodes"
)

// File is one generated file.
type File struct {
	Name string
	Data []byte
}

// Truth is the correct result for a run.
type Truth struct {
	// Verdict is the right answer; Accept lists every answer that is right,
	// Verdict first. It holds more than one where lines were destroyed at random
	// or the contract leaves the choice.
	Verdict report.Verdict
	Accept  []report.Verdict
	// Codes are finding codes of which at least one must be reported; empty
	// where any will do.
	Codes []string
	// WorldSize and Nodes are the true numbers of the run.
	WorldSize, Nodes int
	// ExpectWorldSize and ExpectNodes are to be given to the judge; 0 for none.
	ExpectWorldSize, ExpectNodes int
	Completed                    bool
	onEFA                        bool // some channel line left is on EFA, or may be
	unnamed                      bool // channel lines lost their communicator, and others of the process follow
	moved                        bool // lines of two runs of one process, moved by Ray
	blank                        bool // no channel line over the network is left
}

// Allows reports whether v is a right answer.
func (t Truth) Allows(v report.Verdict) bool {
	for _, a := range t.Accept {
		if a == v {
			return true
		}
	}
	return false
}

// Generate returns the files of the run and the correct verdict. A recipe that contradicts itself
// is first made consistent; see Normal.
func (r Run) Generate() ([]File, Truth) {
	r = r.Normal()
	rng := rand.New(rand.NewPCG(r.Seed, 0x5eed))
	w := newWorld(r, rng)
	w.play()
	truth := truthOf(r, w)
	if r.Next == nil {
		return w.files(), truth
	}
	n := r.Next.Normal()
	next := newWorld(n, rand.New(rand.NewPCG(n.Seed, 0x5eed)))
	if r.NextInSameFiles {
		next.reuse(w)
	}
	next.play()
	truth = worst(truth, truthOf(n, next))
	if !r.NextInSameFiles {
		return append(w.files(), inFolder("second-run", next.files())...), truth
	}
	if next.forms.sharesNetwork() && !w.forms.sharesNetwork() {
		// Of the bare version lines of a file only the first counts.
		truth.accept(report.Inconclusive)
	}
	w.append(next)
	return w.files(), truth
}

func inFolder(dir string, files []File) []File {
	for i := range files {
		files[i].Name = dir + "/" + files[i].Name
	}
	return files
}
