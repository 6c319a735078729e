package rayapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

// The job's output grows while it is followed, and the job ends when the client has waited five times.
func TestTailDriverLogWritesEachByteOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		frames int
		line   string
		// file reports whether the file must have been read while the job ran.
		file bool
	}{
		{"the stream goes on", 0, "line %d\n", false},
		{"the stream ends at once again and again", 2, "line %d\n", true},
		{"the stream never gives this log", 0, "line %d \xff\n", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := raytest.New()
			t.Cleanup(server.Close)
			server.Token, server.TailFrames = "secret", test.frames
			grow := func(lines int) []byte {
				var text strings.Builder
				for i := range lines {
					fmt.Fprintf(&text, test.line, i)
				}
				return []byte(text.String())
			}
			waits := 0
			client := rayapi.New(rayapi.Options{
				BaseURL: server.URL(), Token: server.Token,
				Sleep: func(ctx context.Context, _ time.Duration) error {
					server.Lock()
					defer server.Unlock()
					waits++
					server.AddFile("head0", "job-driver-train-1.log", grow(40*waits))
					if waits == 5 {
						server.Jobs["train-1"].Status = rayapi.Succeeded
					}
					return ctx.Err()
				},
			})
			server.AddFile("head0", "job-driver-train-1.log", grow(25))
			_, err := client.Submit(t.Context(), submission("train-1"))
			require.NoError(t, err)
			if test.name == tests[0].name { // an unbroken stream ends only with the job
				time.AfterFunc(100*time.Millisecond, func() {
					server.Lock()
					defer server.Unlock()
					server.AddFile("head0", "job-driver-train-1.log", grow(200))
					server.Jobs["train-1"].Status = rayapi.Succeeded
				})
			}
			var out strings.Builder
			require.NoError(t, client.TailDriverLog(t.Context(), "train-1", &out))
			assert.Equal(t, string(grow(200)), out.String())
			assert.Equal(t, test.file, server.Seen("GET /api/v0/logs/file") > 1)
		})
	}
}

func TestTailDriverLogEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	server.AddFile("head0", "job-driver-train-1.log", []byte("first\n"))
	_, err := client.Submit(t.Context(), submission("train-1"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	err = client.TailDriverLog(ctx, "train-1", writer(func([]byte) (int, error) { cancel(); return 0, nil }))
	require.ErrorIs(t, err, context.Canceled)

	full := errors.New("disk full")
	err = client.TailDriverLog(t.Context(), "train-1", writer(func([]byte) (int, error) { return 0, full }))
	require.ErrorIs(t, err, full)
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestDeleteJob(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	require.ErrorIs(t, client.DeleteJob(t.Context(), "train-1"), rayapi.ErrNotFound)
	_, err := client.Submit(t.Context(), submission("train-1"))
	require.NoError(t, err)
	require.ErrorIs(t, client.DeleteJob(t.Context(), "train-1"), rayapi.ErrStillActive)
	assert.Zero(t, server.Seen("DELETE "))
	server.Jobs["train-1"].Status = rayapi.Failed
	require.NoError(t, client.DeleteJob(t.Context(), "train-1"))
	jobs, err := client.Jobs(t.Context())
	require.NoError(t, err)
	assert.Empty(t, jobs)
}

// A dashboard behind a Unix socket serves requests and streams, and each request dials again.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	server := raytest.New()
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "s")
	serve := func() *http.Server {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
		require.NoError(t, err)
		proxy := &http.Server{Handler: httputil.NewSingleHostReverseProxy(target), ReadHeaderTimeout: time.Minute}
		go func() { _ = proxy.Serve(listener) }()
		return proxy
	}
	client := rayapi.New(rayapi.Options{
		Dialer: rayapi.Unix{Path: path},
		Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	first := serve()
	_, err = client.Submit(t.Context(), submission("train-1"))
	require.NoError(t, err)
	require.NoError(t, first.Close())
	_, err = client.Version(t.Context())
	require.ErrorIs(t, err, rayapi.ErrUnreachable)
	require.ErrorContains(t, err, path)

	second := serve()
	t.Cleanup(func() { _ = second.Close() })
	server.Lock()
	server.AddFile("head0", "job-driver-train-1.log", []byte("hello\n"))
	server.Jobs["train-1"].Status = rayapi.Succeeded
	server.Unlock()
	var out strings.Builder
	require.NoError(t, client.TailDriverLog(t.Context(), "train-1", &out))
	assert.Equal(t, "hello\n", out.String())
}
