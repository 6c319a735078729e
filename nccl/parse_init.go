package nccl

import "bytes"

// parseInit reads the lines that join a rank to a communicator, of any version:
//
//	comm 0x2b8e76d0 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
//	ncclCommInitRankConfig comm 0x.. rank 0 nranks 2 .. commId 0xd88d - Init START
//	[Rank 0] ncclCommGrow comm 0x.. rank 0 nranks 3 .. commId 0xd88d - Init START
//	ncclCommSplit comm 0x.. rank 0 nranks 2 .. parent 0x.. childCount 1 color 0 key 0- Init START
//	comm 0x.. rank 0 nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE
//
// Fields are found by their names, so that versions may add, drop or reorder
// them. A line without pointer, rank and size is no event.
func parseInit(msg []byte, e *event) bool {
	at := bytes.Index(msg[:min(len(msg), 96)], []byte("comm 0x"))
	if at < 0 {
		return false
	}
	in := &e.init
	*in = initLine{rank: -1, size: -1, nodes: -1, count: -1, color: -1}
	c := cursor{b: msg, i: at}
	marked := false
	for !marked && !c.done() {
		c.blanks()
		key := c.word()
		switch string(key) {
		case "Init", "Destroy", "Abort":
			c.blanks()
			if marked = mark(&c, key, in); !marked {
				return false
			}
		default:
			in.read(key, &c)
		}
	}
	if in.rank < 0 || in.size <= 0 {
		return false
	}
	if !marked {
		if in.nodes < 0 {
			return false
		}
		in.phase = phaseRanks
	}
	e.kind = evInit
	return true
}

// read takes the value behind a field's name; words that are no field are skipped.
func (in *initLine) read(key []byte, c *cursor) {
	switch string(key) {
	case "comm":
		in.ptr = fieldHex(c)
	case "rank":
		in.rank = field(c)
	case "nranks", "nRanks":
		in.size = field(c)
	case "nNodes":
		in.nodes = field(c)
	case "commId":
		in.id = fieldHex(c)
		in.hasID = in.id != 0
	case "parent":
		in.parent = fieldHex(c)
		in.isSub = true
	case "splitCount", "childCount": // up to 2.28, from 2.29
		in.count = field(c)
	case "color":
		in.color = field(c)
	case "key": // `key 0- Init START`: the dash sticks to the number
		field(c)
	}
}

// mark reads the word behind Init, Destroy or Abort.
func mark(c *cursor, key []byte, in *initLine) bool {
	if string(key) != "Init" {
		in.phase = phaseEnd
		return true
	}
	switch {
	case c.lit("START"):
		in.phase = phaseStart
	case c.lit("COMPLETE"):
		in.phase = phaseComplete
	default:
		return false
	}
	return true
}

func field(c *cursor) int32 {
	c.blanks()
	n, ok := c.signed()
	if !ok {
		return -1
	}
	return n
}

func fieldHex(c *cursor) uint64 {
	c.blanks()
	n, _ := c.hex()
	return n
}
