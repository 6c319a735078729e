package rayapi

import (
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
	query := url.Values{
		"node_id":  {nodeID},
		"filename": {file},
		// The default is the last 1000 lines, and NCCL's are the first.
		"lines":   {"-1"},
		"timeout": {fmt.Sprint(downloadSeconds)},
	}
	var text []byte
	err := c.repeat(ctx, func() (err error) {
		text, err = c.download(ctx, "/api/v0/logs/file?"+query.Encode(), limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading log %q of node %q: %w", file, nodeID, err)
	}
	return text, nil
}

// download reads a reply of at most limit bytes. It has no deadline while data arrives.
func (c *Client) download(ctx context.Context, path string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(stallTimeout, cancel)
	defer watchdog.Stop()

	reply, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	watched := readerFunc(func(p []byte) (int, error) {
		n, err := reply.Body.Read(p)
		watchdog.Reset(stallTimeout)
		return n, err
	})
	text, err := io.ReadAll(io.LimitReader(watched, limit+1))
	if err != nil {
		return nil, fmt.Errorf(
			"%w after %d bytes: %w: %w",
			ErrIncomplete,
			len(text),
			ErrUnreachable,
			err,
		)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%w: %w: more than %d bytes", ErrIncomplete, ErrTooLong, limit)
	}
	return text, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// DriverLog returns the output of a job's driver, from the node that it ran on. It is not evidence
// about the ranks.
func (c *Client) DriverLog(ctx context.Context, job Job) ([]byte, error) {
	if job.DriverNodeID == "" {
		return nil, fmt.Errorf("reading the driver log of %q: %w", job.SubmissionID, errNoDriver)
	}
	return c.ReadLog(ctx, job.DriverNodeID, "job-driver-"+job.SubmissionID+".log")
}

var errNoDriver = errors.New("its driver never started")
