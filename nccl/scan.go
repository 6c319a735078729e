package nccl

import "bytes"

// token is what every record holds; its prefix stands before it, its level and
// message behind.
const token = "NCCL "

// levelLen is the length of "NCCL INFO " and "NCCL WARN ".
const levelLen = len("NCCL INFO ")

// block is a run of whole lines and what was found in them. Blocks are parsed
// in parallel and applied to the model in file order.
type block struct {
	data []byte
	// stray is a channel line over another network whose own record was cut before
	// its token; without text there is none. It is no event, which each has a token.
	stray event
	// ahead is what follows data in the file, as far as it is at hand: a torn
	// record is looked for there.
	ahead   []byte
	events  []event
	origins []origin
	lines   int // newlines in data
	infos   int
	warns   int
	repeats int // records that Ray marked as standing for others
	// err says that the data could not be read to its end.
	err error
}

// reset prepares the block for other data, keeping its memory.
func (b *block) reset(data, ahead []byte) {
	*b = block{data: data, ahead: ahead, events: b.events[:0], origins: b.origins[:0]}
}

// scanner parses one block after the other, keeping its memory.
type scanner struct {
	g *grammar
	b *block
	d []byte
	// hits are the block's tokens, and at is the one in hand.
	hits []hit
	at   int

	prefixes prefixCache
	folds    folds
	// spent holds where text stands that already completed a torn record.
	spent map[int]bool
}

func newScanner(g *grammar) *scanner {
	return &scanner{g: g, prefixes: newPrefixCache(), spent: map[int]bool{}}
}

// scan finds every record in the block and keeps those that mean something.
func (s *scanner) scan(b *block) {
	s.b, s.d = b, b.data
	s.prefixes.reset()
	s.folds.reset()
	clear(s.spent)
	s.hits, b.lines = appendTokens(s.hits[:0], s.d)
	next := 0
	for s.at = 0; s.at < len(s.hits); s.at++ {
		if tok := int(s.hits[s.at].pos); tok >= next {
			next = s.token(tok)
		}
	}
}

// token handles the token at tok and returns where to search on.
func (s *scanner) token(tok int) int {
	d, msg := s.d, tok+levelLen
	if msg > len(d) {
		return tok + len(token)
	}
	switch string(d[tok+len(token) : msg]) {
	case "INFO ":
		s.b.infos++
	case "WARN ":
		s.b.warns++
	default:
		if hasPrefix(d[tok+len(token):], "version ") {
			return s.version(tok)
		}
		return tok + len(token)
	}
	// Most records that mean anything are channels, and most of those repeat.
	if hasPrefix(d[msg:], "Channel ") {
		return s.record(tok, msg, s.g.candidates(d[msg:]))
	}
	window := d[msg:min(len(d), msg+64)]
	forms := s.g.candidates(window)
	if len(forms) == 0 || !led(forms, window) && !tornLead(window) {
		return msg
	}
	return s.record(tok, msg, forms)
}

// version handles NCCL's own version line, which early versions and
// NCCL_DEBUG=VERSION print without any prefix. It always names CUDA's version
// too; torch's exceptions say `NCCL version 2.28.9` and are no line of NCCL's.
func (s *scanner) version(tok int) int {
	e := s.add()
	e.from = -1
	e.text = trimRecord(s.unwrap(s.d[tok:s.lineEnd(tok)], tok))
	if !parseVersion(e.text, e) || !bytes.ContainsRune(e.name, '+') {
		s.drop()
	}
	return tok + len(token)
}

// record handles a record whose message has a known lead.
func (s *scanner) record(tok, msg int, forms []form) int {
	from, start, ok := s.prefix(tok)
	if ok && s.behindTorn(start) {
		s.stray(msg)
	}
	if ok && s.again(from, msg) {
		return msg
	}
	end, glued := s.recordEnd(msg)
	body, repeated := cutRepeat(trimRecord(s.unwrap(s.d[msg:end], tok)))
	if glued {
		body = trimRecord(bytes.TrimSuffix(trimRecord(cutStamp(body)), []byte(" |")))
	}
	e := s.add()
	if !ok {
		s.headless(e, forms, tok, body)
		return msg
	}
	if s.ownReport(start) {
		s.drop()
		return end
	}
	if repeated {
		s.b.repeats++
	}
	e.from = from
	e.text = s.d[start : msg+len(body)]
	switch {
	case tornLead(s.d[msg:min(len(s.d), msg+8)]):
		e.kind = evTorn
	case !s.g.read(forms, body, e):
		s.drop()
		return msg
	}
	switch e.kind {
	case evTorn:
		s.mend(e, body, end)
	case evChannel:
		if !repeated {
			s.remember(from, msg, end)
		}
		return end
	}
	s.folds.bar(s.b.origins[from].pid)
	return end
}

// prefix parses the NCCL prefix that ends at tok, or recognises one of this
// block's byte by byte. It returns the index of its origin.
func (s *scanner) prefix(tok int) (from int32, start int, ok bool) {
	if from, start, ok = s.prefixes.known(s.prefixes.last, s.d, tok); ok {
		return from, start, true
	}
	slot := s.prefixes.slot(s.d, tok)
	if from, start, ok = s.prefixes.known(slot, s.d, tok); ok {
		return from, start, true
	}
	floor := max(0, tok-maxPrefix-256)
	if i := bytes.LastIndexByte(s.d[floor:tok], '\n'); i >= 0 {
		floor += i + 1
	}
	o, at, ok := parsePrefix(s.d[floor:], tok-floor)
	if !ok {
		return -1, floor, false
	}
	o, at = s.prefixes.settle(o, at, bytes.Contains(s.d[floor:floor+at], []byte(token)))
	start = floor + at
	from = int32(len(s.b.origins))
	s.b.origins = append(s.b.origins, o)
	s.prefixes.learn(slot, from, s.d[start:tok])
	return from, start, true
}

// recordEnd finds where the message that starts at msg ends: at the newline, or
// where the next record's prefix begins on the same line.
func (s *scanner) recordEnd(msg int) (end int, glued bool) {
	end = s.lineEnd(msg)
	for _, h := range s.hits[s.at+1:] {
		tok := int(h.pos)
		if tok+len(token) > end {
			break
		}
		if tok < msg {
			continue
		}
		if o, start, ok := parsePrefix(s.d[msg:end], tok-msg); ok {
			_, start = s.prefixes.settle(o, start, true)
			return msg + start, true
		}
	}
	return end, false
}

// maxRecord bounds the length of a message; NCCL's buffer has 1,024 bytes.
const maxRecord = 8192

func (s *scanner) lineEnd(from int) int {
	limit := min(len(s.d), from+maxRecord)
	if i := bytes.IndexByte(s.d[from:limit], '\n'); i >= 0 {
		return from + i
	}
	return limit
}

// add appends a cleared event for the record in hand.
func (s *scanner) add() *event {
	line := int(s.hits[s.at].line)
	s.b.events = append(s.b.events, event{line: line, last: line})
	return &s.b.events[len(s.b.events)-1]
}

// drop takes the last event back.
func (s *scanner) drop() { s.b.events = s.b.events[:len(s.b.events)-1] }
