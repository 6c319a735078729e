package nccl

import "math/bits"

// ref is where a fact stands in the evidence.
type ref struct {
	file *logFile
	line int // 1-based
	text string
}

// note is one process's share in a finding.
type note struct {
	proc  *process // nil for a record without a readable prefix
	first ref
	count int
}

// logFile is what one source told. Files are parsed independently, so that
// they can be read in parallel; what spans files is joined by unify.
type logFile struct {
	name    string
	index   int
	procs   []*process
	byKey   map[string]*process  // host:pid to its latest incarnation
	byPID   map[int32][]*process // the same, by pid
	notes   map[Code][]note
	names   map[string]string // interned names
	lines   int
	infos   int
	warns   int
	repeats int
	torn    int
	cutTail bool
	version ref // an unprefixed version line
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

// waitingNet is a `Using network` line whose communicator is not known yet: the
// line comes before the communicator's own in most versions.
type waitingNet struct {
	tid   int32
	name  string
	count int
	ref   ref
}

// process is one incarnation of host + pid in one file.
type process struct {
	file    *logFile
	key     string // host:pid
	host    string
	pid     int32
	before  *process // the incarnation that this one replaced
	threads []thread
	members []*member
	// loose collects channels whose communicator is unknown, by own rank: in
	// versions without START they come before the line that names it.
	loose   []*member
	waiting []waitingNet

	provider   string
	selections []selection
	failed     bool
	// lost is a provider other than efa whose thread selected another later.
	lost    string
	chosen  ref // the last selection
	failure ref // the failure that followed it
	nics    int32

	codes     codeSet
	booted    bool                // printed its bootstrap line
	started   bool                // printed an Init START
	several   bool                // holds several ranks of anything; set by unify
	plugin    bool                // printed anything of a network plugin
	connected [connectedKinds]int // Connected lines, by kind
	torn      int
	version   string
	pluginVer string
	first     ref
}

// thread is what one tid of a process printed.
type thread struct {
	tid      int32
	lastNet  int // line of its last collective NET channel, 0 for none
	lastConn int
	// lastComplete is the line of its last `Init COMPLETE`.
	lastComplete int
	open         *member // init started and not complete
	lastChan     *member
	// lastChanLine is where lastChan's latest channel stands: folded lines
	// arrive out of order.
	lastChanLine int
	netRef       ref // the first NET channel that is not connected yet
	// lateNet and lateRef are lastNet and netRef for channels that are
	// point-to-point ones unless an Init COMPLETE still claims them.
	lateNet int
	lateRef ref
	// left is the netRef of channels that a later Init START left unconnected;
	// leftSilent the same where an Init COMPLETE stands for Connected.
	left, leftSilent ref
}

// member is one rank of one communicator, as one process printed it.
type member struct {
	proc     *process
	ptr      uint64
	id       uint64
	hasID    bool
	isSub    bool
	parent   *member
	count    int32 // splitCount, or -1
	color    int32
	depth    int // splits above it
	rank     int32
	size     int32 // 0 for loose channels
	nodes    int32 // -1 when no line tells
	networks []string
	netRef   ref
	begun    bool // printed Init START
	complete int  // line of Init COMPLETE, 0 for none
	ended    bool
	late     bool // loose, of a rank that completed a communicator before
	tallies  []tally
	joined   int // Connected lines
	joinRef  ref
	first    ref
}

// tally counts a member's channels of one kind.
type tally struct {
	label    string
	provider string // in force when the first was printed; "" if none
	medium   medium
	p2p      bool
	old      bool
	count    int
	sends    int
	receives int
	gdr      int
	devices  uint64
	last     int // line of the last one
	first    ref
	peers    []int32 // of MNNVL channels
	ends     []end   // the first few, for pictures
}

// deviceCount is how many different network devices the channels use.
func (t *tally) deviceCount() int { return bits.OnesCount64(t.devices) }

// codeSet is a set of finding codes.
type codeSet [2]uint64

func (s *codeSet) add(c Code)      { s[c>>6] |= 1 << (c & 63) }
func (s *codeSet) has(c Code) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func newLogFile(name string, index int) *logFile {
	return &logFile{
		name: name, index: index, budget: textBudget,
		byKey: map[string]*process{}, byPID: map[int32][]*process{}, notes: map[Code][]note{}, names: map[string]string{},
	}
}

// at makes a ref, copying the text while the budget lasts.
func (f *logFile) at(line int, text []byte) ref {
	r := ref{file: f, line: line}
	if n := min(len(text), maxText); n <= f.budget {
		f.budget -= n
		r.text = string(text[:n])
	}
	return r
}

// maxText bounds the text of one finding.
const maxText = 400

// maxNames bounds the interned names of one file: real logs hold a dozen, and
// random bytes must not fill the memory.
const maxNames = 4096

// intern copies a name once.
func (f *logFile) intern(b []byte) string {
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
func (f *logFile) note(c Code, p *process, line int, text []byte) {
	if p != nil {
		p.codes.add(c)
	}
	list := f.notes[c]
	for i := range list {
		if list[i].proc == p {
			list[i].count++
			return
		}
	}
	if len(list) < maxNotes {
		f.notes[c] = append(list, note{proc: p, first: f.at(line, text), count: 1})
	}
}

// multiRank reports whether one process holds several ranks of anything.
func (p *process) multiRank() bool {
	ranks := map[uint64]int32{}
	for _, m := range p.members {
		rank, seen := ranks[m.id]
		if m.hasID && seen && rank != m.rank {
			return true
		}
		// One rank may have other ranks in communicators of one size, but hardly in
		// two of the first one's.
		if m.size == p.members[0].size && m.rank != p.members[0].rank {
			return true
		}
		if m.hasID {
			ranks[m.id] = m.rank
		}
	}
	return false
}

// continues reports whether the process goes on with a communicator of the one
// that it replaced, so that a second bootstrap line was no restart: NCCL prints
// another for its out-of-band network. What a real restart, or another
// container's process of the same number, selected is its own.
func (p *process) continues(before *process) bool {
	for _, m := range p.members {
		for _, n := range before.members {
			if m.ptr == n.ptr && m.rank == n.rank {
				return true
			}
		}
	}
	return false
}

// provided returns the provider that the process ended up with, "" for none,
// and whether a failure after the selection undid it. Where one process holds
// several ranks (or hosts and pids collide in one file), every thread that
// selected must have ended on the same one; else the odd one is returned.
func (p *process) provided() (name string, failed bool) {
	if !p.plugin && p.before != nil && p.continues(p.before) {
		return p.before.provided()
	}
	if p.several {
		for _, s := range p.selections {
			if s.failed || s.name != efaProvider {
				return s.name, s.failed
			}
		}
	}
	return p.provider, p.failed
}

// thread returns the state of a tid.
func (p *process) thread(tid int32) *thread {
	for i := range p.threads {
		if p.threads[i].tid == tid {
			return &p.threads[i]
		}
	}
	p.threads = append(p.threads, thread{tid: tid})
	return &p.threads[len(p.threads)-1]
}
