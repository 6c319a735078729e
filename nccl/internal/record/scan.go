package record

import (
	"bytes"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// token is what every record holds; its prefix precedes it, its level and
// message behind.
const token = "NCCL "

// levelLen is the length of "NCCL INFO " and "NCCL WARN ".
const levelLen = len("NCCL INFO ")

// Scanner parses one block after the other, keeping its memory.
type Scanner struct {
	g *Grammar
	b *Block
	d []byte
	// hits are the block's tokens, and at is the one in hand.
	hits []hit
	at   int

	prefixes prefixes
	folds    folds
	// used holds the offsets of text that already completed another record.
	used map[int]bool
}

// NewScanner returns a scanner for the forms of a grammar.
func NewScanner(g *Grammar) *Scanner {
	return &Scanner{g: g, prefixes: newPrefixes(), used: map[int]bool{}}
}

// Scan finds every record in the block and keeps those that mean something.
func (s *Scanner) Scan(b *Block) {
	s.b, s.d = b, b.data
	s.prefixes.reset()
	s.folds.reset()
	clear(s.used)
	s.hits, b.Lines = appendTokens(s.hits[:0], s.d)
	next := 0
	for s.at = 0; s.at < len(s.hits); s.at++ {
		if tok := int(s.hits[s.at].pos); tok >= next {
			next = s.token(tok)
		}
	}
}

// token handles the token at tok and returns where to search on.
func (s *Scanner) token(tok int) int {
	d, msg := s.d, tok+levelLen
	if msg > len(d) {
		return tok + len(token)
	}
	switch string(d[tok+len(token) : msg]) {
	case "INFO ":
		s.b.Infos++
	case "WARN ":
		s.b.Warns++
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
	if warning := d[msg-2] == 'N'; !warning && !led(forms, window) && !tornLead(window) {
		return msg
	}
	return s.record(tok, msg, forms)
}

// version handles NCCL's own version line, which early versions and
// NCCL_DEBUG=VERSION print without any prefix. It always names CUDA's version
// too; torch's exceptions say `NCCL version 2.28.9` and are no line of NCCL's.
func (s *Scanner) version(tok int) int {
	e := s.add()
	e.From = -1
	e.Text = trimRecord(s.unwrap(s.d[tok:s.lineEnd(tok)], tok))
	if !parseVersion(e.Text, e) || !bytes.ContainsRune(e.Name, '+') {
		s.drop()
	}
	return tok + len(token)
}

// record handles a record whose message has a known lead.
func (s *Scanner) record(tok, msg int, forms []form) int {
	from, start, ok := s.prefix(tok)
	if ok && s.behindTorn(start) {
		s.findStray(msg)
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
		s.b.Repeats++
	}
	e.From = from
	e.Text = s.d[start : msg+len(body)]
	switch {
	case tornLead(s.d[msg:min(len(s.d), msg+8)]):
		e.Kind = KindTorn
	case s.g.read(forms, body, e):
	case s.d[msg-2] == 'N': // of WARN
		e.Kind, e.Code = KindNote, finding.UnexplainedWarning
	default:
		s.drop()
		return msg
	}
	switch e.Kind {
	case KindTorn:
		s.complete(e, body, end)
	case KindChannel:
		if !repeated {
			s.remember(from, msg, end)
		}
		return end
	}
	s.folds.stop(s.b.Origins[from].PID)
	return end
}

// prefix returns the index of the origin that the NCCL prefix before tok names,
// and where it begins.
func (s *Scanner) prefix(tok int) (from int32, start int, ok bool) {
	floor := max(0, tok-maxPrefix-256)
	floor += bytes.LastIndexByte(s.d[floor:tok], '\n') + 1
	head := s.d[floor:tok]
	if p, ok := s.prefixes.known[string(head)]; ok {
		return p.from, tok - p.length, true
	}
	o, at, ok := parsePrefix(s.d[floor:], len(head))
	if !ok {
		return -1, floor, false
	}
	o, at = s.prefixes.settle(o, at, bytes.Contains(head[:at], []byte(token)))
	from = int32(len(s.b.Origins))
	s.b.Origins = append(s.b.Origins, o)
	s.prefixes.learn(head, knownPrefix{from, len(head) - at})
	return from, floor + at, true
}

// recordEnd finds where the message that starts at msg ends: at the newline, or
// where the next record's prefix begins on the same line.
func (s *Scanner) recordEnd(msg int) (end int, glued bool) {
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

func (s *Scanner) lineEnd(from int) int {
	limit := min(len(s.d), from+maxRecord)
	if i := bytes.IndexByte(s.d[from:limit], '\n'); i >= 0 {
		return from + i
	}
	return limit
}

// add appends a cleared event for the record in hand.
func (s *Scanner) add() *Event {
	line := int(s.hits[s.at].line)
	s.b.Events = append(s.b.Events, Event{Line: line, Last: line})
	return &s.b.Events[len(s.b.Events)-1]
}

// drop takes the last event back.
func (s *Scanner) drop() { s.b.Events = s.b.Events[:len(s.b.Events)-1] }
