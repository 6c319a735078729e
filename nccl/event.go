package nccl

import "bytes"

// eventKind says which of the facts that the judge works with a record states.
type eventKind uint8

const (
	evNone      eventKind = iota
	evNetwork             // `Using network X`: name
	evInit                // any line that joins a rank to a communicator: init
	evChannel             // one connection and its transport: ch
	evConnected           // `Connected all rings` and its kin
	evProvider            // the plugin selected a libfabric provider: name, count = NICs
	evVersion             // NCCL's version: name
	evBoot                // the first lines of a process: a new incarnation
	evNote                // a line that only a finding rests on: code
	evTorn                // a channel line that is cut short
)

// event is one parsed record. Its slices point into the block that was read
// and die with it: what the model keeps, it copies.
type event struct {
	kind  eventKind
	fails bool // evNote: the plugin's initialisation failed here
	code  Code
	count int32
	from  int32 // index into block.origins; -1 for a record without prefix
	line  int   // newlines before this record in its block
	// more counts further lines that state the same of other channels; last is
	// line for the last of them, or for this record.
	more int
	last int
	text []byte // the record from its host on
	name []byte
	init initLine
	ch   channelLine
}

// phase is the point in a communicator's life that an init line marks.
type phase uint8

const (
	phaseStart phase = iota
	phaseRanks       // `rank r nRanks n nNodes m`
	phaseComplete
	phaseEnd // Destroy and Abort
)

// initLine holds the fields of a communicator line; what the line does not
// tell is -1 (numbers) or absent from has.
type initLine struct {
	phase  phase
	hasID  bool
	isSub  bool // made from a parent by ncclCommSplit or ncclCommShrink
	ptr    uint64
	id     uint64
	parent uint64
	rank   int32
	size   int32
	nodes  int32
	count  int32 // splitCount
	color  int32
}

// direction is the side of a connection that a process prints.
type direction uint8

const (
	bothSides direction = iota // P2P and SHM lines name no side: the sender prints
	sending
	receiving
)

// medium groups transports by what they can prove.
type medium uint8

const (
	mediumLocal medium = iota // P2P, SHM: inside a node
	mediumNet                 // NET and COLLNET: over a network plugin
	mediumMNNVL               // P2P over NVLink, which crosses hosts on GB200 racks
	mediumOdd                 // a transport that this parser does not know
)

// channelLine is one `Channel NN/C : a[x] -> b[y] [send] via T` record.
type channelLine struct {
	dir     direction
	medium  medium
	oldForm bool // without `/C`: NCCL 2.9 and older, which connects collectives inside init
	gdr     bool
	conn    int32 // 0 = collectives, 1 = point to point
	from    int32
	to      int32
	device  int32
	label   []byte // "NET/Libfabric", "P2P", "SHM", "COLLNET/SHARP"
}

// own is the rank of the process that prints the line.
func (c *channelLine) own() int32 {
	if c.dir == receiving {
		return c.to
	}
	return c.from
}

// peer is the rank at the other end.
func (c *channelLine) peer() int32 {
	if c.dir == receiving {
		return c.from
	}
	return c.to
}

// messageOf returns what stands behind the level of a record.
func messageOf(text []byte) []byte {
	if i := bytes.Index(text, []byte(token)); i >= 0 && i+levelLen <= len(text) {
		return text[i+levelLen:]
	}
	return nil
}
