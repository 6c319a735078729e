package transport

import (
	"bytes"
	"strings"
)

// token is what every record holds; its prefix stands before it, its level and
// message behind.
const token = "NCCL "

// levelLen is the length of "NCCL INFO " and "NCCL WARN ".
const levelLen = len("NCCL INFO ")

// block is a run of whole lines and what was found in them. Blocks are parsed
// in parallel and applied to the model in file order.
type block struct {
	data []byte
	// ahead is what follows data in the file, as far as it is at hand: a torn
	// record is looked for there.
	ahead   []byte
	events  []event
	origins []origin
	lines   int // newlines in data
	infos   int
	warns   int
	repeats int // records that Ray marked as standing for others
}

// reset prepares the block for other data, keeping its memory.
func (b *block) reset(data, ahead []byte) {
	*b = block{data: data, ahead: ahead, events: b.events[:0], origins: b.origins[:0]}
}

// scan finds every record in the block and keeps those that mean something.
func (g *grammar) scan(b *block) {
	s := scanner{g: g, b: b, d: b.data, known: map[int32][][]byte{}}
	for {
		i := indexToken(s.d[s.pos:])
		if i < 0 {
			break
		}
		s.pos = s.token(s.pos + i)
	}
	b.lines += bytes.Count(s.d[s.counted:], []byte{'\n'})
}

// scanner is the state of one pass over a block.
type scanner struct {
	g       *grammar
	b       *block
	d       []byte
	pos     int
	counted int // newlines before this offset are in b.lines
	// last is the prefix of the last record, host to level, and lastOrigin its
	// index: the next record is mostly the same thread's.
	last       []byte
	lastOrigin int32
	// known holds the hosts seen with each pid: where a newline is lost, the
	// end of the record before is glued to the host, and only this tells.
	known map[int32][][]byte
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
	window := d[msg:min(len(d), msg+64)]
	forms := s.g.candidates(window)
	if !led(forms, window) && !tornLead(window) {
		return msg
	}
	return s.record(tok, msg, forms)
}

// tornLead reports whether the message stops inside the word Channel.
func tornLead(b []byte) bool {
	i := 0
	for i < len(b) && i < len("Channel") && b[i] == "Channel"[i] {
		i++
	}
	return i > 0 && i < len(b) && (b[i] == '\n' || b[i] == '\r')
}

// version handles NCCL's own version line, which early versions and
// NCCL_DEBUG=VERSION print without any prefix.
func (s *scanner) version(tok int) int {
	e := s.add(tok)
	e.from = -1
	e.text = trimRecord(s.d[tok:s.lineEnd(tok)])
	if !parseVersion(e.text, e) {
		s.drop()
	}
	return tok + len(token)
}

// record handles a record whose message has a known lead.
func (s *scanner) record(tok, msg int, forms []form) int {
	o, start, ok := s.prefix(tok)
	end, glued := s.recordEnd(msg)
	body, repeated := cutRepeat(trimRecord(s.d[msg:end]))
	if glued {
		body = trimRecord(bytes.TrimSuffix(cutStamp(body), []byte(" |")))
	}
	e := s.add(tok)
	if !ok {
		s.headless(e, forms, tok, body)
		return msg
	}
	if repeated {
		s.b.repeats++
	}
	e.from = s.origin(o, start, tok)
	e.text = s.d[start : msg+len(body)]
	switch {
	case tornLead(s.d[msg:min(len(s.d), msg+8)]):
		e.kind = evTorn
	case !s.g.read(forms, body, e):
		s.drop()
		return msg
	}
	if e.kind == evTorn {
		s.mend(e, body, end)
	}
	return max(end, msg)
}

// prefix parses the NCCL prefix, or recognises the last one byte by byte.
func (s *scanner) prefix(tok int) (o origin, start int, ok bool) {
	if n := len(s.last); n > 0 && tok >= n && string(s.d[tok-n:tok]) == string(s.last) &&
		(tok == n || !hostByte(s.d[tok-n-1])) {
		return s.b.origins[s.lastOrigin], tok - n, true
	}
	floor := max(0, tok-maxPrefix-256)
	if i := bytes.LastIndexByte(s.d[floor:tok], '\n'); i >= 0 {
		floor += i + 1
	}
	o, start, ok = parsePrefix(s.d[floor:], tok-floor)
	if ok {
		o, start = s.settle(o, start)
	}
	return o, floor + start, ok
}

// settle cuts what a lost newline glued to the host.
func (s *scanner) settle(o origin, start int) (origin, int) {
	hosts := s.known[o.pid]
	for _, h := range hosts {
		if extra := len(o.host) - len(h); extra >= 0 && bytes.HasSuffix(o.host, h) {
			o.host, o.key = h, o.key[extra:]
			return o, start + extra
		}
	}
	if len(hosts) < 8 {
		s.known[o.pid] = append(hosts, o.host)
	}
	return o, start
}

// origin returns the index of o, adding it when it differs from the last one.
func (s *scanner) origin(o origin, start, tok int) int32 {
	if p := s.d[start:tok]; string(p) != string(s.last) {
		s.b.origins = append(s.b.origins, o)
		s.lastOrigin = int32(len(s.b.origins) - 1)
		s.last = p
	}
	return s.lastOrigin
}

// headless handles a record whose prefix is torn: `9:589 [0] NCCL INFO ...`.
// A channel over a network in it may be another transport, so it counts as
// torn. A token without even that stands in quoted or help text: no evidence.
func (s *scanner) headless(e *event, forms []form, tok int, body []byte) {
	if !tornPrefix(s.d[max(0, tok-48):tok]) || !s.g.read(forms, body, e) ||
		e.kind != evTorn && (e.kind != evChannel || e.ch.medium == mediumLocal) {
		s.drop()
		return
	}
	e.kind, e.from, e.text = evTorn, -1, body
}

// tornPrefix reports whether b ends in the rest of an NCCL prefix: digits and
// colons, then a device in brackets.
func tornPrefix(b []byte) bool {
	i := len(b) - 1
	if i < 2 || b[i] != ' ' || b[i-1] != ']' {
		return false
	}
	i = skipDigitsBack(b, i-2)
	if i < 0 || b[i] != '[' {
		return false
	}
	n := 0
	for i--; i >= 0 && (b[i] == ' ' && n == 0 || b[i] == ':' || isDigit(b[i])); i-- {
		n++
	}
	return i < 0 || b[i] == '\n'
}

// mend tries to complete a torn channel line with the first following piece of
// text that is no record of its own: where two processes share a pipe, the rest
// of the line comes after the other's. What cannot be mended stays torn.
func (s *scanner) mend(e *event, body []byte, end int) {
	const lookAhead, maxLines = 4096, 8
	after := s.d[end:min(len(s.d), end+lookAhead)]
	if len(after) < lookAhead {
		after = append(append(make([]byte, 0, lookAhead), after...), s.b.ahead[:min(len(s.b.ahead), lookAhead-len(after))]...)
	}
	_, after, _ = bytes.Cut(after, []byte{'\n'})
	for range maxLines {
		line, rest, ok := bytes.Cut(after, []byte{'\n'})
		if !ok {
			return
		}
		after = rest
		if !bytes.Contains(line, []byte(token)) && complete(e, body, trimRecord(line)) {
			return
		}
	}
}

// complete joins the two halves of a record. A launcher may have put its prefix
// before the second, so each of the first words is tried as its beginning; only
// a transport that is known by name is believed.
func complete(e *event, head, tail []byte) bool {
	for range 6 {
		whole := event{}
		joined := append(append(make([]byte, 0, len(head)+len(tail)+1), head...), tail...)
		if parseChannel(joined, &whole) && whole.kind == evChannel && knownTransport(&whole.ch) {
			e.kind, e.ch = whole.kind, whole.ch
			return true
		}
		_, rest, ok := bytes.Cut(tail, []byte{' '})
		if !ok {
			return false
		}
		tail = rest
	}
	return false
}

// knownTransport reports whether a mended line names a transport that NCCL or
// the plugin has: a wrong guess must not make evidence.
func knownTransport(ch *channelLine) bool {
	switch ch.medium {
	case mediumLocal, mediumMNNVL:
		return true
	case mediumOdd:
		return false
	}
	name := networkOf(string(ch.label))
	return efaNetwork(name) || name == "Socket" || strings.HasPrefix(name, "IB")
}

// recordEnd finds where the message that starts at msg ends: at the newline, or
// where the next record's prefix begins on the same line.
func (s *scanner) recordEnd(msg int) (end int, glued bool) {
	end = s.lineEnd(msg)
	for at := msg; at < end; {
		i := bytes.Index(s.d[at:end], []byte(token))
		if i < 0 {
			break
		}
		tok := at + i
		at = tok + len(token)
		if o, start, ok := parsePrefix(s.d[msg:end], tok-msg); ok {
			_, start = s.settle(o, start)
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

// add appends a cleared event for the record whose token is at tok.
func (s *scanner) add(tok int) *event {
	s.b.lines += bytes.Count(s.d[s.counted:tok], []byte{'\n'})
	s.counted = tok
	s.b.events = append(s.b.events, event{line: s.b.lines})
	return &s.b.events[len(s.b.events)-1]
}

// drop takes the last event back.
func (s *scanner) drop() { s.b.events = s.b.events[:len(s.b.events)-1] }

// trimRecord cuts what launchers and terminals leave behind a message: blanks,
// carriage returns and colour codes.
func trimRecord(b []byte) []byte {
	for len(b) > 0 {
		switch c := b[len(b)-1]; {
		case c == ' ' || c == '\r' || c == '\n' || c == '\t':
			b = b[:len(b)-1]
			continue
		case c == 'm':
			if i := bytes.LastIndexByte(b, 0x1b); i >= 0 && len(b)-i <= 8 {
				b = b[:i]
				continue
			}
		}
		return b
	}
	return b
}

// cutStamp cuts the next record's timestamp from the end of a message, where
// the newline between them is lost: `Using network Socket2026-11-30 01:06:19 `.
func cutStamp(b []byte) []byte {
	i := len(b)
	for i > 0 && (isDigit(b[i-1]) || bytes.IndexByte([]byte(" :.,-+[]TZ"), b[i-1]) >= 0) {
		i--
	}
	// The message's own last number may stand before the stamp: a stamp begins
	// with the first word that is a date or a clock.
	for at := i; at < len(b); {
		end := at
		for end < len(b) && b[end] != ' ' {
			end++
		}
		if w := b[at:end]; bytes.Count(w, []byte(":")) >= 2 || bytes.Count(w, []byte("-")) >= 2 {
			if at == 0 {
				return b
			}
			return b[:at]
		}
		at = end + 1
	}
	return b
}

// cutRepeat cuts Ray's ` [repeated 5x across cluster]` and reports whether it
// was there: such a record stands for others that nobody can see.
func cutRepeat(b []byte) ([]byte, bool) {
	i := bytes.Index(b, []byte("[repeated "))
	if i < 0 || !bytes.Contains(b[i:], []byte("x across cluster]")) {
		return b, false
	}
	return trimRecord(b[:i]), true
}
