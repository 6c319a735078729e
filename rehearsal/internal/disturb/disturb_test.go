package disturb

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// head plays Ray's dashboard with one job.
type head struct {
	status string
	posts  int
	body   []byte
}

func (h *head) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.body, _ = io.ReadAll(r.Body)
	switch {
	case r.Method == http.MethodPost:
		h.posts++
		_, _ = io.WriteString(w, `{"submission_id": "a"}`)
	case strings.HasPrefix(r.URL.Path, "/api/jobs/"):
		_, _ = io.WriteString(w, `{"status": "`+h.status+`"}`)
	default:
		_, _ = io.WriteString(w, "0123456789")
	}
}

// lab is a client whose connections pass through a Disturber.
type lab struct {
	*Disturber
	head   *head
	client *http.Client
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Disturber: New(), head: &head{status: "RUNNING"}}
	server := httptest.NewServer(l.head)
	t.Cleanup(server.Close)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		pod, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ours, theirs := net.Pipe()
		go func() { _ = l.Splice(context.WithoutCancel(ctx), rayapi.DashboardPort, theirs, pod) }()
		return ours, nil
	}
	l.client = &http.Client{Timeout: 20 * time.Second,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	return l
}

// send returns a reply's status and body; 0 when there is none.
func (l *lab) send(t *testing.T, method, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://head"+path,
		strings.NewReader(`{"submission_id": "a", "working_dir": "gcs://raytrain_0.zip"}`))
	require.NoError(t, err)
	reply, err := l.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return reply.StatusCode, err.Error()
	}
	return reply.StatusCode, string(body)
}

func TestEffects(t *testing.T) {
	t.Parallel()
	const logs = "/api/v0/logs/file"
	for _, test := range []struct {
		name         string
		plan         Plan
		method, path string
		code         int
		body         string
	}{
		{"no plan", Plan{}, "GET", logs, 200, "0123456789"},
		{"server error", Plan{Effect: ServerError}, "GET", logs, 500, "rehearsed"},
		{"unauthorized", Plan{Effect: Unauthorized}, "GET", "/api/version", 401, "rehearsed"},
		{"too large", Plan{Effect: TooLarge, Requests: Packages}, "PUT", "/api/packages/gcs/a", 413,
			"rehearsed"},
		{"no package yet", Plan{Effect: TooLarge, Requests: Packages}, "GET", "/api/packages/gcs/a", 404,
			"rehearsed"},
		{"other requests pass", Plan{Effect: TooLarge, Requests: Packages}, "GET", logs, 200,
			"0123456789"},
		{"not yet", Plan{Effect: ServerError, From: Running}, "GET", logs, 200, "0123456789"},
		{"broken", Plan{Effect: Break, Requests: Logs}, "GET", logs, 200, "unexpected EOF"},
		{"shortened", Plan{Effect: Shorten, Requests: Logs}, "GET", logs, 200, "01234"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.Set(test.plan)
			code, body := l.send(t, test.method, test.path)
			assert.Equal(t, test.code, code)
			assert.Equal(t, test.body, body)
		})
	}
}

func TestALostReplyWasProcessed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Set(Plan{Effect: LoseReply, Requests: Submissions})
	code, _ := l.send(t, "POST", "/api/jobs/")
	assert.Zero(t, code)
	assert.Equal(t, 1, l.head.posts)
}

func TestARewrittenSubmissionArrivesWhole(t *testing.T) {
	t.Parallel()
	for effect, want := range map[Effect]string{
		LosePackage: `{"submission_id": "a", "working_dir": "gcs://raytrain-0.zip"}`,
		Starve: `{"entrypoint_resources": {"rehearsal-none": 1}, "submission_id": "a", ` +
			`"working_dir": "gcs://raytrain_0.zip"}`,
	} {
		l := newLab(t)
		l.Set(Plan{Effect: effect, Requests: Submissions})
		code, _ := l.send(t, "POST", "/api/jobs/")
		assert.Equal(t, 200, code)
		assert.Equal(t, want, string(l.head.body))
	}
}

func TestADisturbanceEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Set(Plan{Effect: Hang})
	hanging := make(chan int, 1)
	go func() {
		code, _ := l.send(t, "GET", "/api/version")
		hanging <- code
	}()
	select {
	case <-hanging:
		require.Fail(t, "a hanging dashboard answered")
	case <-time.After(50 * time.Millisecond):
	}
	l.Set(Plan{})
	assert.Zero(t, <-hanging)
	code, _ := l.send(t, "GET", "/api/version")
	assert.Equal(t, 200, code)

	now := time.Now()
	l.Set(Plan{Effect: ServerError, Seconds: 2})
	l.reach(t.Context(), Contacted)
	for _, test := range []struct {
		after time.Duration
		want  Effect
	}{{0, ServerError}, {time.Second, ServerError}, {2 * time.Second, None}} {
		got, _ := l.effect(All, now.Add(test.after))
		assert.Equal(t, test.want, got, test.after)
	}
}

// A phase is reached once, in order, whatever an earlier job's status was.
func TestARequestIsHeldUntilItsRelease(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.head.status = "SUCCEEDED"
	l.Set(Plan{Hold: Ended})
	l.send(t, "GET", "/api/jobs/earlier")
	l.send(t, "POST", "/api/jobs/")
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, l.Held(short), "an earlier job's end is not this job's")

	done := make(chan string, 1)
	go func() {
		_, body := l.send(t, "GET", "/api/jobs/a")
		done <- body
	}()
	require.NoError(t, l.Held(t.Context()))
	select {
	case <-done:
		require.Fail(t, "the held request went on")
	case <-time.After(50 * time.Millisecond):
	}
	l.Release()
	assert.Equal(t, `{"status": "SUCCEEDED"}`, <-done)
	_, body := l.send(t, "GET", "/api/jobs/a")
	assert.Equal(t, `{"status": "SUCCEEDED"}`, body, "later requests are not held")
}

func TestCutsAreAtTheSameTime(t *testing.T) {
	t.Parallel()
	at := time.Unix(101, 0)
	assert.Equal(t, time.Second, untilCut(at))
	assert.Equal(t, CutInterval, untilCut(at.Add(time.Second)))
}
