// Package rayapi is a client of the HTTP APIs that Ray's dashboard serves on the head: jobs,
// packages, cluster state and log files. It works around errors of those APIs (Ray 2.58.0) and
// returns typed results and errors.
//
// A Client has no connection of its own. A [Dialer] makes one for each request: a *net.Dialer to the
// host of a URL, [Unix] to a socket, and package forward to the head's pod in a Kubernetes cluster. A
// connection that breaks therefore fails one request. Requests that are safe to repeat are repeated for
// about 30 s, so that a head that restarts, or is busy, is no error. [Client.Submit] runs a job at most
// once, also when the reply is lost.
//
// Errors are told apart with errors.Is: [ErrNotFound], [ErrUnauthorized], [ErrUnreachable] and the others
// of this package. An *[APIError] has the status and the text of a reply.
//
// Package raytest is a Ray head for tests.
package rayapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// DashboardPort is where a Ray head serves its dashboard.
	DashboardPort = 8265
	// DefaultBaseURL is for transports that dial the head and ignore the host name.
	DefaultBaseURL = "http://ray-head:8265"

	// maxJSONBytes bounds an API reply. A job's message is at most 20,000
	// characters; listings of a few thousand files stay far below this.
	maxJSONBytes = 32 << 20
	// requestTimeout is the time limit of one small request, including the connection, so that a
	// tunnel that hangs is detected and dialed again.
	requestTimeout = 30 * time.Second
	// retries is the number of retries of a request that is safe to repeat. As firstDelay doubles,
	// they take about 30 s: enough for a head that restarts, or for the state API's slots to become
	// free.
	retries    = 6
	firstDelay = 500 * time.Millisecond
)

// Options configure a Client.
type Options struct {
	// Dialer opens a connection for each request, such as a port-forward; nil dials the host of BaseURL.
	Dialer Dialer
	// Transport carries the requests instead of one over Dialer; nil in general.
	Transport http.RoundTripper
	// BaseURL defaults to DefaultBaseURL, for dialers that ignore the host name.
	BaseURL string
	// Token is the cluster's RAY_AUTH_TOKEN; empty where authentication is off.
	Token string
	// Sleep waits between retries; nil means real time. Tests replace it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Client talks to one Ray head.
type Client struct {
	http    *http.Client
	dialer  Dialer
	baseURL string
	token   string
	sleep   func(context.Context, time.Duration) error
}

// New returns a client; it opens no connection.
func New(options Options) *Client {
	client := &Client{
		http:    &http.Client{Transport: options.Transport},
		dialer:  options.Dialer,
		baseURL: options.BaseURL,
		token:   options.Token,
		sleep:   options.Sleep,
	}
	if client.dialer == nil {
		client.dialer = &net.Dialer{Timeout: requestTimeout}
	}
	if client.http.Transport == nil {
		client.http.Transport = NewTransport(client.dialer)
	}
	if client.baseURL == "" {
		client.baseURL = DefaultBaseURL
	}
	if client.sleep == nil {
		client.sleep = Sleep
	}
	return client
}

// Sleep waits for d, or returns the error of ctx when it ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// minUploadRate is the minimum upload rate of a request's body in bytes per second.
const minUploadRate = 64 << 10

// timeoutFor returns how long a request with a body of that size may take.
func timeoutFor(size int) time.Duration {
	return requestTimeout + time.Duration(size/minUploadRate)*time.Second
}

// do sends one request and returns the reply's body. Callers decide what may be repeated.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutFor(len(body)))
	defer cancel()
	reply, err := c.open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxJSONBytes+1))
	if err != nil {
		return nil, fmt.Errorf(
			"reading the reply to %s %s: %w: %w",
			method,
			path,
			ErrUnreachable,
			err,
		)
	}
	if len(text) > maxJSONBytes {
		return nil, fmt.Errorf(
			"reading the reply to %s %s: longer than %d bytes",
			method,
			path,
			maxJSONBytes,
		)
	}
	return text, nil
}

// open sends one request and returns a reply of status 200; anything else
// becomes an error.
func (c *Client) open(
	ctx context.Context,
	method, path string,
	body []byte,
) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.baseURL+path, reader)
	if err != nil {
		return nil, fmt.Errorf("making the request %s %s: %w", method, path, err)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	reply, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("sending %s %s: %w: %w", method, path, ErrUnreachable, err)
	}
	if reply.StatusCode == http.StatusOK {
		return reply, nil
	}
	defer reply.Body.Close()
	// The text only explains the status; a tunnel that breaks here hides nothing.
	text, _ := io.ReadAll(io.LimitReader(reply.Body, maxErrorBytes)) //nolint:errcheck // see above
	return nil, &APIError{Method: method, Path: path, Status: reply.StatusCode, Body: string(text)}
}

// get reads path, with retries, and decodes the JSON reply into target.
func (c *Client) get(ctx context.Context, path string, target any) error {
	return c.repeat(ctx, func() error {
		text, err := c.do(ctx, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		return decode(path, text, target)
	})
}

// repeat calls attempt until it succeeds, fails permanently, or was repeated often enough.
func (c *Client) repeat(ctx context.Context, attempt func() error) error {
	delay := firstDelay
	for i := 0; ; i++ {
		err := attempt()
		if err == nil || !transient(err) || i == retries {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if sleepErr := c.sleep(ctx, delay); sleepErr != nil {
			return errors.Join(sleepErr, err)
		}
		delay *= 2
	}
}

func decode(path string, text []byte, target any) error {
	if err := json.Unmarshal(text, target); err != nil {
		return fmt.Errorf("decoding the reply to %q: %w", path, err)
	}
	return nil
}
