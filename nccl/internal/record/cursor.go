package record

// cursor walks one message without allocating. Its methods report whether what
// they look for is at the cursor, and only then move it.
type cursor struct {
	b []byte
	i int
}

// done reports whether nothing is left.
func (c *cursor) done() bool { return c.i >= len(c.b) }

// rest returns what follows from the cursor on.
func (c *cursor) rest() []byte { return c.b[c.i:] }

// peek returns the byte at the cursor, 0 at the end.
func (c *cursor) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// blanks skips spaces.
func (c *cursor) blanks() {
	for c.i < len(c.b) && c.b[c.i] == ' ' {
		c.i++
	}
}

// lit skips a literal.
func (c *cursor) lit(s string) bool {
	if !hasPrefix(c.b[c.i:], s) {
		return false
	}
	c.i += len(s)
	return true
}

// number reads a decimal of at most nine digits, so that it fits 32 bits.
func (c *cursor) number() (int32, bool) {
	start, n := c.i, int32(0)
	for c.i < len(c.b) && isDigit(c.b[c.i]) {
		if c.i-start == 9 {
			c.i = start
			return 0, false
		}
		n = n*10 + int32(c.b[c.i]-'0')
		c.i++
	}
	return n, c.i > start
}

// signed reads a decimal with an optional minus sign, such as a color of -1.
func (c *cursor) signed() (int32, bool) {
	start := c.i
	minus := c.lit("-")
	n, ok := c.number()
	if !ok {
		c.i = start
		return 0, false
	}
	if minus {
		n = -n
	}
	return n, true
}

// hex reads a hexadecimal number of at most 64 bits with an optional 0x;
// NCCL prints pointers and commIds without leading zeros.
func (c *cursor) hex() (uint64, bool) {
	c.lit("0x")
	start, n := c.i, uint64(0)
	for c.i < len(c.b) && c.i-start < 16 {
		d := hexDigit(c.b[c.i])
		if d < 0 {
			break
		}
		n = n<<4 | uint64(d)
		c.i++
	}
	return n, c.i > start
}

// bracket skips `[...]`, the bus id or device that NCCL puts behind a rank.
// It reports false when the bracket is opened and never closed (a cut line).
func (c *cursor) bracket() bool {
	if c.peek() != '[' {
		return true
	}
	for j := c.i + 1; j < len(c.b) && j < c.i+24; j++ {
		if c.b[j] == ']' {
			c.i = j + 1
			return true
		}
	}
	return false
}

// word reads up to the next space or the end.
func (c *cursor) word() []byte {
	start := c.i
	for c.i < len(c.b) && c.b[c.i] != ' ' {
		c.i++
	}
	return c.b[start:c.i]
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func isDigit(c byte) bool { return c-'0' < 10 }

func hexDigit(c byte) int {
	switch {
	case c-'0' < 10:
		return int(c - '0')
	case c-'a' < 6:
		return int(c-'a') + 10
	case c-'A' < 6:
		return int(c-'A') + 10
	default:
		return -1
	}
}
