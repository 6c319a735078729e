package disturb

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// Splice connects a forwarded connection with a pod's port until either side ends. Connections to
// other ports than the dashboard's are never disturbed.
func (d *Disturber) Splice(
	ctx context.Context,
	port int,
	client io.ReadWriteCloser,
	pod net.Conn,
) error {
	if port != rayapi.DashboardPort || d.idle() {
		return podnet.Splice(pod, client)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := func() { _ = pod.Close(); _ = client.Close() } // closed again below
	defer end()
	request, err := http.ReadRequest(bufio.NewReader(client))
	if err != nil {
		return nil //nolint:nilerr // the client closed a connection without a request
	}
	kind := kindOf(request)
	d.reach(ctx, Contacted)
	if kind == Submissions {
		d.reach(ctx, Submitting)
	}
	if kind == Logs {
		d.reach(ctx, Collecting)
	}
	effect, changed := d.effect(kind, time.Now())
	switch effect {
	case ServerError:
		return respond(client, http.StatusInternalServerError)
	case Unauthorized:
		return respond(client, http.StatusUnauthorized)
	case TooLarge:
		if request.Method == http.MethodGet {
			return respond(client, http.StatusNotFound)
		}
		return respond(client, http.StatusRequestEntityTooLarge)
	case Hang:
		select {
		case <-changed:
		case <-ctx.Done():
		}
		return nil
	case Cut:
		cut := time.AfterFunc(untilCut(time.Now()), end)
		defer cut.Stop()
	case LosePackage:
		err = rewrite(request, "gcs://raytrain_", "gcs://raytrain-")
	case Starve:
		err = rewrite(request, `{"submission_id"`,
			`{"entrypoint_resources": {"rehearsal-none": 1}, "submission_id"`)
	}
	if err != nil {
		return err
	}
	return d.exchange(ctx, request, kind, effect, client, pod)
}

// exchange sends a request to the pod and its reply, as far as the effect allows, to the client.
func (d *Disturber) exchange(
	ctx context.Context,
	request *http.Request,
	kind Requests,
	effect Effect,
	client io.Writer,
	pod net.Conn,
) error {
	request.Close = true
	if err := request.Write(pod); err != nil {
		return fmt.Errorf("passing on a request: %w", err)
	}
	reply, err := http.ReadResponse(bufio.NewReader(pod), request)
	if err != nil {
		return fmt.Errorf("reading a reply: %w", err)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return fmt.Errorf("reading a reply: %w", err)
	}
	switch {
	case kind == Submissions && reply.StatusCode == http.StatusOK:
		d.reach(ctx, Submitted)
	case kind == Jobs && request.Method == http.MethodGet:
		d.reachStatus(ctx, body)
	}
	if effect == LoseReply {
		return nil
	}
	if effect == Shorten {
		body = body[:len(body)/2]
	}
	reply.Body, reply.TransferEncoding = io.NopCloser(bytes.NewReader(body)), nil
	reply.ContentLength = int64(len(body))
	if effect == Break {
		// The declared length stays that of the whole reply.
		reply.Body = io.NopCloser(bytes.NewReader(body[:len(body)/2]))
	}
	if err := reply.Write(client); err != nil && effect != Break {
		return fmt.Errorf("passing on a reply: %w", err)
	}
	return nil
}

// rewrite replaces a text in a request's body.
func rewrite(request *http.Request, from, to string) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return fmt.Errorf("reading a request: %w", err)
	}
	body = bytes.ReplaceAll(body, []byte(from), []byte(to))
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// status is a job's status in a reply of the jobs API.
var status = regexp.MustCompile(`"status": ?"([A-Z]+)"`)

func (d *Disturber) reachStatus(ctx context.Context, body []byte) {
	found := status.FindSubmatch(body)
	if found == nil {
		return
	}
	switch now := rayapi.JobStatus(found[1]); {
	case now == rayapi.Running:
		d.reach(ctx, Running)
	case now.Final():
		d.reach(ctx, Running) // a short job may never be seen running
		d.reach(ctx, Ended)
	}
}

// kindOf returns the kind of a request to Ray's dashboard.
func kindOf(request *http.Request) Requests {
	path := request.URL.Path
	switch {
	case path == "/api/jobs/" && request.Method == http.MethodPost:
		return Submissions
	case strings.HasPrefix(path, "/api/jobs/"):
		return Jobs
	case strings.HasPrefix(path, "/api/packages/"):
		return Packages
	case strings.HasPrefix(path, "/api/v0/logs/file"):
		return Logs
	default:
		return All
	}
}

func respond(client io.Writer, code int) error {
	_, err := fmt.Fprintf(
		client,
		"HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 9\r\n\r\nrehearsed",
		code,
		http.StatusText(code),
	)
	return err
}

// untilCut returns the time until the next cut, which is at the same time for all connections.
func untilCut(now time.Time) time.Duration {
	return now.Truncate(CutInterval).Add(CutInterval).Sub(now)
}
