package evidence

import (
	"bytes"
	"io"
)

// RedactText removes a token from text, because user code can print it. An empty token removes
// nothing.
func RedactText(text []byte, token string) []byte {
	if token == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(token), []byte("[token removed]"))
}

// Redactor removes a token from what is written to it, also one that is split between two writes.
type Redactor struct {
	out   io.Writer
	token []byte
	// rest is the end of what was written so far, if a token can begin with it.
	rest []byte
}

// NewRedactor returns a Redactor that writes to out. An empty token removes nothing.
func NewRedactor(out io.Writer, token string) *Redactor {
	return &Redactor{out: out, token: []byte(token)}
}

// Write writes what cannot be the beginning of a token; Flush writes the rest.
func (r *Redactor) Write(p []byte) (int, error) {
	if len(r.token) == 0 {
		return r.out.Write(p)
	}
	text := RedactText(append(r.rest, p...), string(r.token))
	keep := min(len(r.token)-1, len(text))
	for !bytes.HasSuffix(text, r.token[:keep]) {
		keep--
	}
	whole := text[:len(text)-keep]
	r.rest = bytes.Clone(text[len(whole):])
	if _, err := r.out.Write(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is left, which is not a whole token.
func (r *Redactor) Flush() error {
	_, err := r.out.Write(r.rest)
	r.rest = nil
	return err
}
