package rayapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// MaxLogBytes is the largest log file that is read. NCCL's INFO output of one rank is well below
// 1 MiB.
const MaxLogBytes = 256 << 20

// downloadSeconds is Ray's own deadline of a whole download. Its default of 30 s cuts a slow download
// off, with status 200.
const downloadSeconds = 3600

// stallTimeout ends a download that receives nothing, because a broken tunnel returns no error.
const stallTimeout = 60 * time.Second

// ListLogs returns the files in a node's log folder that match glob ("**" spans folders, "*" does
// not), as sorted paths relative to that folder.
func (c *Client) ListLogs(ctx context.Context, nodeID, glob string) ([]string, error) {
	query := url.Values{"node_id": {nodeID}, "glob": {glob}}
	var reply struct {
		Result bool   `json:"result"`
		Msg    string `json:"msg"`
		Data   struct {
			// Ray sorts files into categories by name; ours can land in any.
			Result map[string][]string `json:"result"`
		} `json:"data"`
	}
	if err := c.get(ctx, "/api/v0/logs?"+query.Encode(), &reply); err != nil {
		return nil, fmt.Errorf("listing logs %q of node %q: %w", glob, nodeID, err)
	}
	if !reply.Result {
		return nil, fmt.Errorf("listing logs %q of node %q: %s", glob, nodeID, reply.Msg)
	}
	var files []string
	for _, category := range reply.Data.Result {
		for _, file := range category {
			if !strings.HasSuffix(file, "/") { // a folder
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// ReadLog returns a whole file of a node's log folder, of at most MaxLogBytes. A download that was
// cut off is retried, and is otherwise an error that wraps ErrIncomplete: a partial file is never
// returned.
func (c *Client) ReadLog(ctx context.Context, nodeID, file string) ([]byte, error) {
	return c.ReadLogAtMost(ctx, nodeID, file, MaxLogBytes)
}

// ReadLogAtMost is ReadLog with a limit in bytes. A longer file is an error that wraps ErrTooLong; no
// more than the limit is held in memory, because the other side decides how long a file is.
func (c *Client) ReadLogAtMost(
	ctx context.Context,
	nodeID, file string,
	limit int64,
) ([]byte, error) {
	var text bytes.Buffer
	err := c.CopyLog(ctx, nodeID, file, limit, func() (io.Writer, error) {
		text.Reset()
		return &text, nil
	})
	if err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// CopyLog is ReadLogAtMost for files that must not be held in memory. Each try, also a repeated one,
// calls create for a new destination. After an error, what was written is not the file. An error of
// create or of its writer ends the copy and is wrapped.
func (c *Client) CopyLog(
	ctx context.Context,
	nodeID, file string,
	limit int64,
	create func() (io.Writer, error),
) error {
	query := url.Values{
		"node_id":  {nodeID},
		"filename": {file},
		// The default is the last 1000 lines, and NCCL's are the first.
		"lines":   {"-1"},
		"timeout": {fmt.Sprint(downloadSeconds)},
	}
	err := c.repeat(ctx, func() error {
		to, err := create()
		if err != nil {
			return err
		}
		return c.download(ctx, "/api/v0/logs/file?"+query.Encode(), limit, to)
	})
	if err != nil {
		return fmt.Errorf("reading log %q of node %q: %w", file, nodeID, err)
	}
	return nil
}

// download copies a reply of at most limit bytes. It has no deadline while data arrives.
func (c *Client) download(ctx context.Context, path string, limit int64, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(stallTimeout, cancel)
	defer watchdog.Stop()

	reply, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	watched := readerFunc(func(p []byte) (int, error) {
		n, err := reply.Body.Read(p)
		watchdog.Reset(stallTimeout)
		return n, err
	})
	var writeErr error
	local := writerFunc(func(p []byte) (n int, err error) {
		n, writeErr = to.Write(p)
		return n, writeErr
	})
	n, err := io.Copy(local, io.LimitReader(watched, limit+1))
	switch {
	case writeErr != nil:
		return writeErr
	case err != nil:
		return fmt.Errorf("%w after %d bytes: %w: %w", ErrIncomplete, n, ErrUnreachable, err)
	case n > limit:
		return fmt.Errorf("%w: %w: more than %d bytes", ErrIncomplete, ErrTooLong, limit)
	default:
		return nil
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// DriverLog returns the output of a job's driver, from the node that it ran on. It is not evidence
// about the ranks.
func (c *Client) DriverLog(ctx context.Context, job Job) ([]byte, error) {
	var text bytes.Buffer
	err := c.CopyDriverLog(ctx, job, MaxLogBytes, func() (io.Writer, error) {
		text.Reset()
		return &text, nil
	})
	if err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// CopyDriverLog copies what DriverLog returns, as CopyLog does.
func (c *Client) CopyDriverLog(
	ctx context.Context, job Job, limit int64, create func() (io.Writer, error),
) error {
	if job.DriverNodeID == "" {
		return fmt.Errorf("reading the driver log of %q: %w", job.SubmissionID, errNoDriver)
	}
	return c.CopyLog(ctx, job.DriverNodeID, "job-driver-"+job.SubmissionID+".log", limit, create)
}

var errNoDriver = errors.New("its driver never started")
