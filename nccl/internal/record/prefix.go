package record

import "bytes"

// Origin is who printed a record: NCCL's own prefix `host:pid:tid [dev] `.
// The device is that thread's current one, not the rank's GPU, so it is not
// kept; threads of one rank print different tids, so a process is host + pid.
type Origin struct {
	Key  []byte // host:pid, as printed
	Host []byte
	PID  int32
	TID  int32
}

// maxPrefix bounds how far back from "NCCL INFO" the prefix is searched: a
// WARN's origin (a C++ signature of the plugin) is the longest thing between.
const maxPrefix = 512

// parsePrefix reads the NCCL prefix that ends before b[tok:], which starts with
// "NCCL INFO " or "NCCL WARN ". It returns where the host begins. Any text may
// precede the host (launchers, timestamps, even without a blank), so the
// search goes backwards and is never anchored at the line's start.
func parsePrefix(b []byte, tok int) (o Origin, start int, ok bool) {
	if o, start, ok = prefixEndingAt(b, tok); ok {
		return o, start, true
	}
	// `host:pid:tid [dev] file.cc:306 NCCL WARN` and the plugin's
	// `host:pid:tid [dev] int f(a**, b):259 NCCL WARN`.
	floor := max(0, tok-maxPrefix)
	for end := tok; end > floor; {
		i := bytes.LastIndex(b[floor:end], []byte("] "))
		if i < 0 {
			return Origin{}, 0, false
		}
		end = floor + i
		if o, start, ok = prefixEndingAt(b, end+2); ok {
			return o, start, true
		}
	}
	return Origin{}, 0, false
}

// prefixEndingAt reads `host:pid:tid [dev] ` that ends exactly at end.
func prefixEndingAt(b []byte, end int) (o Origin, start int, ok bool) {
	at, ok := deviceBefore(b, end)
	if !ok {
		return Origin{}, 0, false
	}
	tid, at, ok := numberBefore(b, at)
	if !ok {
		return Origin{}, 0, false
	}
	pidEnd := at
	pid, at, ok := numberBefore(b, pidEnd)
	if !ok {
		return Origin{}, 0, false
	}
	start, redacted := redactedHost(b, at)
	if !redacted {
		start = hostStart(b, at)
		start += bytes.LastIndexByte(b[start:at], ',') + 1 // a column of CSV before the host
	}
	if start == at {
		return Origin{}, 0, false
	}
	return Origin{Key: b[start:pidEnd], Host: b[start:at], PID: pid, TID: tid}, start, true
}

// deviceBefore finds the blank before `[dev] `, which ends at end.
func deviceBefore(b []byte, end int) (at int, ok bool) {
	i := end - 1
	if i < 1 || b[i] != ' ' || b[i-1] != ']' {
		return 0, false
	}
	i = skipDigitsBack(b, i-2)
	if i >= 0 && b[i] == '-' {
		i--
	}
	if i < 1 || b[i] != '[' || b[i+1] == ']' || b[i-1] != ' ' {
		return 0, false
	}
	return i - 1, true
}

// numberBefore reads `:digits` that ends at end, and returns where its colon is.
func numberBefore(b []byte, end int) (n int32, colon int, ok bool) {
	i := skipDigitsBack(b, end-1)
	if i < 0 || b[i] != ':' {
		return 0, 0, false
	}
	n, ok = small(b[i+1 : end])
	return n, i, ok
}

func skipDigitsBack(b []byte, i int) int {
	for i >= 0 && isDigit(b[i]) {
		i--
	}
	return i
}

func small(b []byte) (int32, bool) {
	c := cursor{b: b}
	n, ok := c.number()
	return n, ok && c.done()
}

// hostStart finds where the host that ends at end begins. gethostname is cut at
// its first dot and holds no blank, colon or bracket, so those end it; what a
// time format without a blank glued to it is cut off as well, or the same
// process would have a new host each second.
func hostStart(b []byte, end int) int {
	i := end
	for i > 0 && end-i < 256 && hostByte(b[i-1]) {
		i--
	}
	if i < 2 {
		return skipSeconds(b, i, end)
	}
	if b[i-1] == '\\' && i+1 < end && bytes.IndexByte([]byte("nrt"), b[i]) >= 0 {
		return i + 1 // the lines are in one string of JSON: `...Connected all rings\nhost`
	}
	switch {
	case b[i-1] == ':' && isDigit(b[i-2]) && i+2 < end && isDigit(b[i]) && isDigit(b[i+1]):
		return skipFraction(b, i+2, end) // 01:57:07host, 16:39:55.215-07:00host
	}
	return skipSeconds(b, i, end)
}

// redactedHost returns where a host begins that someone replaced by a word in
// angle brackets: `<node-a>:41:41 [0]`. MPI's `<stdout>` is not one.
func redactedHost(b []byte, end int) (start int, ok bool) {
	if end < 3 || b[end-1] != '>' {
		return 0, false
	}
	floor := max(0, end-64)
	start = floor + bytes.LastIndexByte(b[floor:end-1], '<')
	if start < floor || start == end-2 {
		return 0, false
	}
	switch word := b[start+1 : end-1]; string(word) {
	case "stdout", "stderr":
		return 0, false
	default:
		return start, !bytes.ContainsAny(word, "\n:[]()|\x1b")
	}
}

// skipSeconds skips seconds since 1970, or %Y%m%d%H%M%S, before the host.
func skipSeconds(b []byte, i, end int) int {
	digits := i
	for digits < end && isDigit(b[digits]) {
		digits++
	}
	if digits-i >= 10 && digits < end { // docker names a host by twelve digits too
		return skipFraction(b, digits, end)
	}
	return i
}

// skipFraction skips `.254` or `,254`, and a Z, that follow glued seconds.
func skipFraction(b []byte, i, end int) int {
	start := i
	if i < end && (b[i] == '.' || b[i] == ',') {
		i++
		for i < end && isDigit(b[i]) {
			i++
		}
	}
	if i < end && b[i] == 'Z' && i > start {
		i++
	}
	if i >= end {
		return start
	}
	return i
}

// hostByte reports whether c can be in a host name as NCCL prints it.
func hostByte(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '\\', ':', ';', '&', '[', ']', '(', ')', '<', '>', '|', '"', '\'', '`', '=', '/', 0x1b, 0:
		return false
	}
	return c < 0x80
}
