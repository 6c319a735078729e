package record

import "bytes"

// plain removes a terminal's escape sequences, such as those with which `grep --color` marks a word
// inside a message, and replaces no-break spaces, which text that was copied from a web page has. It
// overwrites b.
func plain(b []byte) []byte {
	const nbsp = "\u00a0"
	if bytes.IndexByte(b, escape) < 0 && !bytes.Contains(b, []byte(nbsp)) {
		return b
	}
	out := b[:0]
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == escape && escapeLen(b[i:]) > 0:
			i += escapeLen(b[i:]) - 1
		case b[i] == nbsp[0] && i+1 < len(b) && b[i+1] == nbsp[1]:
			out = append(out, ' ')
			i++
		default:
			out = append(out, b[i])
		}
	}
	return out
}

const escape = 0x1b

// escapeLen returns the length of the escape sequence that b begins with, such as `ESC[01;31m`; 0 for
// none. A sequence that is cut short hides nothing of what follows it.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[1] != '[' {
		return 0
	}
	i := 2
	for i < len(b) && (isDigit(b[i]) || b[i] == ';') {
		i++
	}
	if i == len(b) || (b[i]|0x20) < 'a' || (b[i]|0x20) > 'z' {
		return 0
	}
	return i + 1
}

// trimRecord cuts what launchers and terminals leave behind a message: blanks and carriage returns.
func trimRecord(b []byte) []byte {
	for len(b) > 0 {
		switch b[len(b)-1] {
		case ' ', '\r', '\n', '\t':
			b = b[:len(b)-1]
			continue
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
	// The message's own last number may precede the stamp: a stamp begins
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
// was there: such a record replaces others that are not shown.
func cutRepeat(b []byte) ([]byte, bool) {
	i := bytes.Index(b, []byte("[repeated "))
	if i < 0 || !bytes.Contains(b[i:], []byte("x across cluster]")) {
		return b, false
	}
	return trimRecord(b[:i]), true
}

// unwrapped cuts a name where what is not part of it begins: padding or a remark
// (two blanks, or a blank before `#` or `(`), the end of a string in JSON, logfmt or
// CSV, of a table's cell or an HTML element, a control character, or syslog's
// `#015` for one. Only bytes that no name of a network or a provider holds end
// it, so that `efa_x` and `efa+x` stay what they are.
func unwrapped(name []byte) []byte {
	for i, c := range name {
		switch c {
		case '"', '\'', '`', '\\', ',', '|', '<', '>', '&', 0x7f:
			return name[:i]
		case ' ':
			if i+1 < len(name) && bytes.IndexByte([]byte(" #("), name[i+1]) >= 0 {
				return name[:i]
			}
		case '#':
			if i+3 < len(name) && isDigit(name[i+1]) && isDigit(name[i+2]) && isDigit(name[i+3]) {
				return name[:i]
			}
		default:
			if c < ' ' || c >= 0x80 {
				return name[:i]
			}
		}
	}
	return name
}

// unwrap cuts a message where the string of JSON ends that a collector wrapped
// the line in: `{"log":"host:1:1 [0] NCCL INFO Using network OFI\n","stream":..`.
// NCCL's own messages may hold quotes too, so the line must look like JSON.
func (s *Scanner) unwrap(msg []byte, tok int) []byte {
	end := bytes.IndexByte(msg, '"')
	if end < 0 {
		return msg
	}
	before := s.d[max(0, tok-maxRecord):tok]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if !bytes.Contains(before, []byte(`{"`)) {
		return msg
	}
	msg = msg[:end]
	for _, escaped := range []string{`\n`, `\r`} {
		msg = bytes.TrimSuffix(msg, []byte(escaped))
	}
	return msg
}
