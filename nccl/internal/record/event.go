package record

import (
	"bytes"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// Kind is the kind of a record.
type Kind uint8

// The kinds of facts.
const (
	KindNone      Kind = iota
	KindNetwork        // `Using network X`: name
	KindInit           // any line that joins a rank to a communicator: init
	KindChannel        // one connection and its transport: ch
	KindConnected      // `Connected all rings` and similar lines
	KindProvider       // the plugin selected a libfabric provider: name, count = NICs
	KindVersion        // NCCL's version: name
	KindBoot           // the first line of a process: a new incarnation; name = interface:address
	KindHostID         // NCCL_HOSTID: name
	KindNote           // a line that only a finding rests on: code
	KindTorn           // a channel line that is cut short
)

// Event is one parsed record. Its slices point into the block that was read
// and die with it: what the model keeps, it copies.
type Event struct {
	Kind  Kind
	Fails bool // KindNote: the plugin's initialization failed here
	// Stripped reports whether host and process are missing as in a log from which they were removed;
	// Ch and Name are valid then.
	Stripped bool
	Code     finding.Code
	Count    int32
	From     int32 // index into block.origins; -1 for a record without prefix
	Line     int   // newlines before this record in its block
	// More counts further lines that state the same of other channels; last is
	// line for the last of them, or for this record.
	More int
	Last int
	Text []byte // the record from its host on
	Name []byte
	Init InitLine
	Ch   ChannelLine
}

// Phase is the point in a communicator's life that an init line marks.
type Phase uint8

// The phases.
const (
	PhaseStart Phase = iota
	phaseRanks       // `rank r nRanks n nNodes m`
	PhaseComplete
	PhaseEnd // Destroy and Abort
)

// InitLine holds the fields of a communicator line; what the line does not
// have is -1 (numbers) or absent from has.
type InitLine struct {
	Phase  Phase
	HasID  bool
	IsSub  bool // made from a parent by ncclCommSplit or ncclCommShrink
	Ptr    uint64
	ID     uint64
	Parent uint64
	Rank   int32
	Size   int32
	Nodes  int32
	Count  int32 // splitCount
	Color  int32
}

// Direction is the side of a connection that a process prints.
type Direction uint8

// The sides.
const (
	bothSides Direction = iota // P2P and SHM lines name no side: the sender prints
	Sending
	Receiving
)

// Medium groups transports by what they can prove.
type Medium uint8

// The media.
const (
	MediumLocal Medium = iota // P2P, SHM: inside a node
	MediumNet                 // NET and COLLNET: over a network plugin
	MediumMNNVL               // P2P over NVLink, which crosses hosts on GB200 racks
	MediumOdd                 // a transport that this parser does not know
)

// ChannelLine is one `Channel NN/C : a[x] -> b[y] [send] via T` record.
type ChannelLine struct {
	Dir     Direction
	Medium  Medium
	OldForm bool // without `/C`: NCCL 2.9 and older, which connects collectives inside init
	GDR     bool
	Conn    int32 // 0 = collectives, 1 = point to point
	from    int32
	to      int32
	Device  int32
	Label   []byte // "NET/Libfabric", "P2P", "SHM", "COLLNET/SHARP"
}

// Own returns the rank of the process that prints the line.
func (c *ChannelLine) Own() int32 {
	if c.Dir == Receiving {
		return c.to
	}
	return c.from
}

// Peer returns the rank at the other end.
func (c *ChannelLine) Peer() int32 {
	if c.Dir == Receiving {
		return c.from
	}
	return c.to
}

// MessageOf returns what follows the level of a record.
func MessageOf(text []byte) []byte {
	if i := bytes.Index(text, []byte(token)); i >= 0 && i+levelLen <= len(text) {
		return text[i+levelLen:]
	}
	return nil
}
