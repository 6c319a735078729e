package nccl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/verdict"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// quoteSize is the greatest number of bytes of a line that a finding quotes.
const quoteSize = 512

// quote adds the log line to each finding that names one. The model keeps the text of few records,
// because a log can have millions of channels, so the line is read again. A Monitor, which
// does not hold the log, leaves it out.
func quote(ctx context.Context, findings []report.Finding, sources []Source) error {
	byName := make(map[string]Source, len(sources))
	for _, source := range sources {
		byName[source.Name] = source
	}
	for i := range findings {
		found := &findings[i]
		source, ok := byName[found.File]
		if found.Text != "" || found.Line == 0 || !ok {
			continue
		}
		line, err := lineOf(ctx, source, found.Line)
		if err != nil {
			return fmt.Errorf("reading line %d of %q: %w", found.Line, found.File, err)
		}
		found.Text = line
	}
	return nil
}

// lineOf returns the beginning of a line as printable text; "" for a line that is no text.
func lineOf(ctx context.Context, source Source, number int) (text string, err error) {
	r, err := source.Open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	buffered := bufio.NewReaderSize(r, 1<<16)
	for at := 1; at < number; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		switch _, err := buffered.ReadSlice('\n'); {
		case err == nil:
			at++
		case errors.Is(err, io.EOF):
			return "", nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
	line, err := buffered.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return "", err
	}
	line = line[:min(len(line), quoteSize)]
	if bytes.IndexByte(line, 0) >= 0 { // UTF-16
		return "", nil
	}
	return strings.TrimSpace(verdict.Clean(string(line))), nil
}
