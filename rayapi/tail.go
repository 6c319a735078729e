package rayapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// tailStarts is how often the stream may end without anything new before the file is read instead.
	tailStarts = 3
	// tailPause is the pause between two starts of the stream, filePause between two reads of the file.
	tailPause, filePause = time.Second, 15 * time.Second
)

// TailDriverLog writes the output of a job's driver to w as it grows, until the job has ended and all
// of it was written, or ctx ends. It is for people and not evidence. The head's stream may end at any
// time without an error, and never gives some logs (ray#57002): it is started again, and what was
// written already is skipped; when it does not help, the file is read.
func (c *Client) TailDriverLog(ctx context.Context, id string, w io.Writer) error {
	if err := ValidateID(id); err != nil {
		return err
	}
	tail := tail{client: c, id: id, out: w}
	for fruitless := 0; ; {
		before := tail.written
		streaming := fruitless < tailStarts
		if streaming {
			tail.stream(ctx)
		}
		job, err := c.Job(ctx, id)
		if err != nil {
			return err
		}
		if final := job.Status.Final(); final || !streaming {
			err := tail.file(ctx, job)
			if final {
				return errors.Join(tail.err, err)
			}
		}
		pause := tailPause
		if fruitless++; tail.written > before {
			fruitless = 0
		}
		if fruitless >= tailStarts {
			pause = filePause
		}
		if err := errors.Join(tail.err, c.sleep(ctx, pause)); err != nil {
			return err
		}
	}
}

// tail is the state of one TailDriverLog.
type tail struct {
	client *Client
	id     string
	out    io.Writer
	// written is how many bytes of the log were written.
	written int
	// err is the first error of out.
	err error
}

// write writes text, which is at an offset of the log, without what was written before.
func (t *tail) write(offset int, text []byte) {
	if skip := t.written - offset; skip > 0 {
		text = text[min(skip, len(text)):]
	}
	if t.err != nil || len(text) == 0 {
		return
	}
	n, err := t.out.Write(text)
	t.written += n
	t.err = err
}

// stream writes frames of the head's websocket until it closes, which says nothing about the job.
func (t *tail) stream(ctx context.Context) {
	dialer := websocket.Dialer{NetDialContext: t.client.dialer.DialContext, HandshakeTimeout: requestTimeout}
	header := http.Header{}
	if t.client.token != "" {
		header.Set("Authorization", "Bearer "+t.client.token)
	}
	address := "ws" + strings.TrimPrefix(t.client.baseURL, "http") + jobsPath + t.id + "/logs/tail"
	conn, reply, err := dialer.DialContext(ctx, address, header)
	if reply != nil {
		defer reply.Body.Close()
	}
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() //nolint:errcheck // it only ends the read
	// The stream always begins at the first byte.
	for offset := 0; t.err == nil; {
		_, text, err := conn.ReadMessage()
		if err != nil {
			return
		}
		t.write(offset, text)
		offset += len(text)
	}
}

// file writes what the log's file has beyond what was written. A job that failed before its driver
// started has none.
func (t *tail) file(ctx context.Context, job Job) error {
	text, err := t.client.DriverLog(ctx, job)
	if errors.Is(err, errNoDriver) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("following job %q: %w", t.id, err)
	}
	t.write(0, text)
	return nil
}
