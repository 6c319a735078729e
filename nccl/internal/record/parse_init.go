package record

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
func parseInit(msg []byte, e *Event) bool {
	at := bytes.Index(msg[:min(len(msg), 96)], []byte("comm 0x"))
	if at < 0 {
		return false
	}
	in := &e.Init
	*in = InitLine{Rank: -1, Size: -1, Nodes: -1, Count: -1, Color: -1}
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
	if in.Rank < 0 || in.Size <= 0 {
		return false
	}
	if !marked {
		if in.Nodes < 0 {
			return false
		}
		in.Phase = phaseRanks
	}
	e.Kind = KindInit
	return true
}

// read takes the value behind a field's name; words that are no field are skipped.
func (in *InitLine) read(key []byte, c *cursor) {
	switch string(key) {
	case "comm":
		in.Ptr = fieldHex(c)
	case "rank":
		in.Rank = field(c)
	case "nranks", "nRanks":
		in.Size = field(c)
	case "nNodes":
		in.Nodes = field(c)
	case "commId":
		in.ID = fieldHex(c)
		in.HasID = in.ID != 0
	case "parent":
		in.Parent = fieldHex(c)
		in.IsSub = true
	case "splitCount", "childCount": // up to 2.28, from 2.29
		in.Count = field(c)
	case "color":
		in.Color = field(c)
	case "key": // `key 0- Init START`: the dash sticks to the number
		field(c)
	}
}

// mark reads the word behind Init, Destroy or Abort.
func mark(c *cursor, key []byte, in *InitLine) bool {
	if string(key) != "Init" {
		in.Phase = PhaseEnd
		return true
	}
	switch {
	case c.lit("START"):
		in.Phase = PhaseStart
	case c.lit("COMPLETE"):
		in.Phase = PhaseComplete
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
