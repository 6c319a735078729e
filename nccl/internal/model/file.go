package model

import (
	"math/bits"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// Ref is the location of a log line.
type Ref struct {
	File *File
	Line int // 1-based
	Text string
}

// Note is one process's share in a finding.
type Note struct {
	Proc  *Process // nil for a record without a readable prefix
	First Ref
	Count int
}

// File is what one log shows. Files are parsed independently, so that
// they can be read in parallel; what spans files is joined by Join.
type File struct {
	Name    string
	Index   int
	Procs   []*Process
	byKey   map[string]*Process  // host:pid to its latest incarnation
	byPID   map[int32][]*Process // the same, by pid
	Notes   map[finding.Code][]Note
	names   map[string]string // interned names
	Lines   int
	Infos   int
	Warns   int
	Repeats int
	Torn    int
	CutTail bool
	// Address is that of the host that wrote the file, from another source; "" if unknown.
	Address string
	// Rehearsed reports that a rehearsal's stand-in for NCCL wrote the file.
	Rehearsed bool
	Version   Ref // an unprefixed version line
	// Stripped is what records without host and process show.
	Stripped Stripped
	// budget bounds the bytes of log text kept for findings.
	budget int
}

// textBudget is how much log text one file may keep for its findings.
const textBudget = 64 << 10

// maxNotes bounds how many processes one file lists under one finding.
const maxNotes = 16

// selection is the libfabric provider that a thread's plugin chose last.
type selection struct {
	tid    int32
	name   string
	failed bool
}

// pendingNetwork is a `Using network` line whose communicator is not known yet: the
// line comes before the communicator's own in most versions.
type pendingNetwork struct {
	tid   int32
	name  string
	count int
	ref   Ref
}

// thread is what one tid of a process printed.
type thread struct {
	tid      int32
	lastNet  int // line of its last collective NET channel, 0 for none
	lastConn int
	// lastComplete is the line of its last `Init COMPLETE`.
	lastComplete int
	open         *View // init started and not complete
	lastChan     *View
	// lastChanLine is the line of lastChan's latest channel: folded lines
	// arrive out of order.
	lastChanLine int
	netRef       Ref // the first NET channel that is not connected yet
	// unclaimedNet and lateRef are lastNet and netRef for channels that are
	// point-to-point ones unless an Init COMPLETE follows that shows their communicator.
	unclaimedNet int
	unclaimedRef Ref
	// abandoned is the netRef of channels that a later Init START left unconnected;
	// leftSilent the same where an Init COMPLETE means Connected.
	abandoned, abandonedSilent Ref
}

// View is one rank of one communicator, as one process printed it.
type View struct {
	Proc     *Process
	order    int // its place in the process, -1 for channels without a communicator
	ptr      uint64
	id       uint64
	HasID    bool
	isSub    bool
	parent   *View
	count    int32 // splitCount, or -1
	color    int32
	depth    int // splits above it
	Rank     int32
	size     int32 // 0 for channels without a communicator
	nodes    int32 // -1 when no line has it
	networks []string
	NetRef   Ref
	begun    bool // printed Init START
	Complete int  // line of Init COMPLETE, 0 for none
	Ended    bool
	late     bool // without a communicator, of a rank that completed a communicator before
	Tallies  []Tally
	joined   int // Connected lines
	JoinRef  Ref
	First    Ref
}

// Tally counts a member's channels of one kind.
type Tally struct {
	Label    string
	Provider string // in force when the first was printed; "" if none
	Medium   record.Medium
	P2P      bool
	old      bool
	Count    int
	Sends    int
	Receives int
	GDR      int
	Devices  uint64
	First    Ref
	peers    []int32 // of MNNVL channels
	Ends     []end   // the first few, for pictures
}

// DeviceCount returns how many different network devices the channels use.
func (t *Tally) DeviceCount() int { return bits.OnesCount64(t.Devices) }

// codeSet is a set of finding codes.
type codeSet [2]uint64

func (s *codeSet) add(c finding.Code)      { s[c>>6] |= 1 << (c & 63) }
func (s *codeSet) Has(c finding.Code) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// NewFile returns an empty model of one log.
func NewFile(name string, index int) *File {
	return &File{
		Name: name, Index: index, budget: textBudget,
		byKey: map[string]*Process{}, byPID: map[int32][]*Process{}, Notes: map[finding.Code][]Note{}, names: map[string]string{},
	}
}

// at makes a ref, copying the text while the budget lasts.
func (f *File) at(line int, text []byte) Ref {
	r := Ref{File: f, Line: line}
	if n := min(len(text), maxText); n <= f.budget {
		f.budget -= n
		r.Text = string(text[:n])
	}
	return r
}

// maxText bounds the text of one finding.
const maxText = 400

// maxNames bounds the interned names of one file: real logs hold a dozen, and
// random bytes must not fill the memory.
const maxNames = 4096

// intern copies a name once.
func (f *File) intern(b []byte) string {
	if s, ok := f.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(f.names) < maxNames {
		f.names[s] = s
	}
	return s
}

// note records a finding's line.
func (f *File) note(c finding.Code, p *Process, line int, text []byte) {
	if p != nil {
		p.Codes.add(c)
	}
	list := f.Notes[c]
	for i := range list {
		if list[i].Proc == p {
			list[i].Count++
			return
		}
	}
	if len(list) < maxNotes {
		f.Notes[c] = append(list, Note{Proc: p, First: f.at(line, text), Count: 1})
	}
}
