package record

import (
	"bytes"
	"slices"
	"strings"
)

// tornLead reports whether the message stops inside the word Channel.
func tornLead(b []byte) bool {
	i := 0
	for i < len(b) && i < len("Channel") && b[i] == "Channel"[i] {
		i++
	}
	return i > 0 && (i == len(b) || b[i] == '\n' || b[i] == '\r')
}

// headless handles a record whose prefix is incomplete: `9:589 [0] NCCL INFO ...`, or was stripped
// from the whole log. A channel over a network in it may be another transport, so it counts as an
// incomplete line (KindTorn). A token without even that is in quoted or help text, which is no
// evidence, but a channel that is not on EFA is counted.
func (s *Scanner) headless(e *Event, forms []form, tok int, body []byte) {
	before := s.d[max(0, tok-tornWindow):tok]
	torn := tornPrefix(before)
	if !s.g.read(forms, body, e) {
		s.drop()
		return
	}
	e.From, e.Text = -1, body
	e.Stripped = torn || strippedPrefix(before)
	switch {
	case torn && e.Kind == KindTorn,
		e.Kind == KindChannel && e.Ch.Medium != MediumLocal && (torn || !IsEFANetwork(NetworkOf(string(e.Ch.Label)))):
		e.Kind = KindTorn
	case e.Stripped && (e.Kind == KindProvider || e.Kind == KindChannel):
	default:
		s.drop()
	}
}

// strippedPrefix reports whether b, what precedes a token, ends in what is left
// of an NCCL prefix without host and process: the device in brackets behind a
// launcher's prefix, or only a timestamp.
func strippedPrefix(b []byte) bool {
	line := bytes.TrimRight(b[bytes.LastIndexByte(b, '\n')+1:], " ")
	if len(bytes.Trim(line, "0123456789:-.,+TZ []")) == 0 {
		return true
	}
	i := len(line) - 1
	if i < 2 || line[i] != ']' {
		return false
	}
	if i = skipDigitsBack(line, i-1); i < 1 || line[i] != '[' {
		return false
	}
	numbers := bytes.TrimRight(line[:i], " ")
	word := numbers[bytes.LastIndexByte(numbers, ' ')+1:]
	if bytes.Count(word, []byte(":")) >= 2 || len(word) > 0 && len(word) == len(numbers) {
		return true // host:PID:TID, or the host alone at the line's start
	}
	line = bytes.TrimRight(numbers, "0123456789: ")
	if bytes.Count(numbers[len(line):], []byte(":")) >= 2 { // pid and tid, behind something in place of the host
		return true
	}
	return len(line) == 0 || bytes.IndexByte([]byte(")]>|m"), line[len(line)-1]) >= 0
}

// tornWindow is how far before the token the rest of a prefix is looked for.
const tornWindow = 160

// tornPrefix reports whether b ends in the rest of an NCCL prefix: digits and
// colons, then a device in brackets, or any rest of that at the line's start,
// which may be empty.
func tornPrefix(b []byte) bool {
	return tornAtLineStart(b) || tornAtDevice(b)
}

// tornAtLineStart reports whether b ends in any rest of a prefix that begins its line.
func tornAtLineStart(b []byte) bool {
	at := bytes.LastIndexByte(b, '\n') + 1
	return (at > 0 || len(b) < tornWindow) && len(b)-at <= 48 &&
		len(bytes.TrimLeft(b[at:], "0123456789] ")) == 0
}

// tornAtDevice reports whether b ends in digits and colons, then a device in brackets.
func tornAtDevice(b []byte) bool {
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

// behindTorn reports whether the record whose prefix begins at start is right
// behind another that was cut inside its prefix, `NCCL INFO ` or `Channel `: the
// rest of that one then is on a later line, without a token.
func (s *Scanner) behindTorn(start int) bool {
	d := s.d[:start]
	if start > 0 && hostByte(d[start-1]) {
		// The cut word is glued to the host.
		floor := max(0, start-len("Channel"))
		d = d[:floor+bytes.LastIndexByte(d[floor:], ' ')+1]
	}
	n := len(d) - 2
	if n < 0 || d[n+1] != ' ' {
		return false
	}
	switch d[n] {
	case ']':
	case 'L', 'O', 'N', 'l': // of NCCL, INFO, WARN and Channel
		for _, word := range []string{"Channel ", token + "INFO ", token + "WARN ", token} {
			d = bytes.TrimSuffix(d, []byte(word))
		}
	default:
		return false
	}
	_, _, ok := prefixEndingAt(d, len(d))
	return ok
}

// stray looks behind msg for the rest of a channel line without any token, and counts one that is
// not over EFA as KindTorn.
func (s *Scanner) findStray(msg int) {
	if s.b.Stray.Text != nil {
		return // one is enough to doubt the log
	}
	const maxLines = 8
	after := s.d[msg:min(len(s.d), msg+lookAhead)]
	if len(after) < lookAhead {
		after = slices.Concat(after, s.b.ahead[:min(len(s.b.ahead), lookAhead-len(after))])
	}
	_, after, _ = bytes.Cut(after, []byte{'\n'})
	for range maxLines {
		line, rest, ok := bytes.Cut(after, []byte{'\n'})
		_, name, via := bytes.Cut(line, []byte(" via NET/"))
		if via && !bytes.Contains(line, []byte(token)) {
			if name, _, _ = bytes.Cut(name, []byte{'/'}); !IsEFANetwork(string(name)) {
				s.b.Stray = Event{Kind: KindTorn, From: -1, Line: int(s.hits[s.at].line), Text: trimRecord(line)}
				return
			}
		}
		if !ok {
			return
		}
		after = rest
	}
}

// complete tries to complete a channel line with the first following piece of text that is not a
// record: where two processes share a pipe, the rest of the line comes after the other's. A line
// that cannot be completed stays incomplete.
func (s *Scanner) complete(e *Event, body []byte, end int) {
	const reach, maxLines = 4096, 8
	// The next block may take what follows this one for the rest of another record.
	head, after, _ := bytes.Cut(s.d[end:min(len(s.d), end+reach)], []byte{'\n'})
	at := end + len(head) + 1
	for range maxLines {
		line, rest, ok := bytes.Cut(after, []byte{'\n'})
		if !ok {
			return
		}
		if !bytes.Contains(line, []byte(token)) && !s.used[at] && joinHalves(e, body, trimRecord(line)) {
			s.used[at] = true // it is the rest of one record only
			return
		}
		after, at = rest, at+len(line)+1
	}
}

// joinHalves joins the two halves of a record. A launcher may have put its prefix
// before the second, so each of the first words is tried as its beginning; only
// a transport that is known by name is believed.
func joinHalves(e *Event, head, tail []byte) bool {
	for range 6 {
		whole := Event{}
		joined := append(append(make([]byte, 0, len(head)+len(tail)+1), head...), tail...)
		if parseChannel(joined, &whole) && whole.Kind == KindChannel && knownTransport(&whole.Ch) {
			e.Kind, e.Ch = whole.Kind, whole.Ch
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

// knownTransport reports whether a completed line names a transport that NCCL or
// the plugin has: a wrong guess must not make evidence.
func knownTransport(ch *ChannelLine) bool {
	switch ch.Medium {
	case MediumLocal, MediumMNNVL:
		return true
	case MediumOdd:
		return false
	}
	name := NetworkOf(string(ch.Label))
	return IsEFANetwork(name) || name == "Socket" || strings.HasPrefix(name, "IB")
}
