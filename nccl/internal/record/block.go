package record

// Block is a run of whole lines and what was found in them. Blocks are parsed
// in parallel and applied to the model in file order.
type Block struct {
	data []byte
	// Stray is a channel line over another network whose own record was cut before
	// its token; without text there is none. It is no event, which each has a token.
	Stray Event
	// ahead is what follows data in the file, as far as it was read: the rest of an incomplete record
	// is looked for there.
	ahead   []byte
	Events  []Event
	Origins []Origin
	Lines   int // newlines in data
	Infos   int
	Warns   int
	Repeats int // records that Ray marked as printed in place of others
	buf     []byte
}

// Reset prepares the block for other data, which it may change, keeping its memory.
func (b *Block) Reset(data, ahead []byte) {
	*b = Block{data: plain(data), ahead: ahead, Events: b.Events[:0], Origins: b.Origins[:0], buf: b.buf}
}
