package rayapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

// newClient starts a dashboard and a client whose waits take no time.
func newClient(t *testing.T) (*raytest.Server, *rayapi.Client) {
	t.Helper()
	server := raytest.New()
	t.Cleanup(server.Close)
	return server, clientOf(server)
}

func clientOf(server *raytest.Server) *rayapi.Client {
	return rayapi.New(rayapi.Options{
		Transport: &http.Transport{DisableKeepAlives: true}, BaseURL: server.URL(), Token: server.Token,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
}

func submission(id string) rayapi.Submission {
	return rayapi.Submission{ID: id, Entrypoint: "python -m x", Metadata: map[string]string{"nonce": "n1"}}
}

func TestSubmitRunsOnce(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)

	job, err := client.Submit(t.Context(), submission("train-1"))
	require.NoError(t, err)
	assert.Equal(t, rayapi.Running, job.Status)

	again, err := client.Submit(t.Context(), submission("train-1"))
	require.NoError(t, err)
	assert.Equal(t, "n1", again.Metadata["nonce"])
	assert.Len(t, server.Submissions, 1)
	assert.Equal(t, 1, server.Seen("POST /api/jobs/"))
}

func TestSubmitSurvivesWhatPostsMeet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fail  func(server *raytest.Server, posts int, r *http.Request) (int, string)
		posts int
	}{
		{
			name: "the answer was lost after the job was stored",
			fail: func(server *raytest.Server, _ int, _ *http.Request) (int, string) {
				server.Jobs["train-1"] = &rayapi.Job{SubmissionID: "train-1", Status: rayapi.Running}
				return http.StatusBadGateway, "lost"
			},
			posts: 1,
		},
		{
			name: "another request stored it first",
			fail: func(server *raytest.Server, _ int, _ *http.Request) (int, string) {
				server.Jobs["train-1"] = &rayapi.Job{SubmissionID: "train-1", Status: rayapi.Running}
				return http.StatusInternalServerError, "Traceback\nJob with submission_id train-1 already exists. Please use a different submission_id."
			},
			posts: 1,
		},
		{
			name: "the agent is not up yet",
			fail: func(_ *raytest.Server, posts int, _ *http.Request) (int, string) {
				if posts < 3 {
					return http.StatusInternalServerError, "No available agent to submit job, please try again later."
				}
				return 0, ""
			},
			posts: 3,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, client := newClient(t)
			posts := 0
			server.Fail = func(r *http.Request) (int, string) {
				if r.Method != http.MethodPost {
					return 0, ""
				}
				posts++
				return test.fail(server, posts, r)
			}
			job, err := client.Submit(t.Context(), submission("train-1"))
			require.NoError(t, err)
			assert.Equal(t, "train-1", job.SubmissionID)
			assert.Equal(t, test.posts, posts)
		})
	}
}

func TestSubmitDoesNotRepeatARefusal(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	server.Fail = func(r *http.Request) (int, string) {
		if r.Method == http.MethodPost {
			return http.StatusBadRequest, "Traceback (most recent call last):\n  x\nTypeError: unexpected keyword"
		}
		return 0, ""
	}
	_, err := client.Submit(t.Context(), submission("train-1"))
	require.ErrorContains(t, err, "TypeError: unexpected keyword")
	assert.NotContains(t, err.Error(), "Traceback")
	assert.Equal(t, 1, server.Seen("POST /api/jobs/"))
}

func TestIDsThatRayMishandlesAreNeverSent(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	for _, id := range []string{"", "a b", "a/b", "A", "-a", "a-", "ä", strings.Repeat("a", 64)} {
		_, err := client.Submit(t.Context(), submission(id))
		assert.ErrorIs(t, err, rayapi.ErrInvalidID, "%q", id)
		_, err = client.Job(t.Context(), id)
		assert.ErrorIs(t, err, rayapi.ErrInvalidID, "%q", id)
	}
	assert.Empty(t, server.Requests)
	require.NoError(t, rayapi.ValidateID(strings.Repeat("a", 63)))
}

func TestStopAndWait(t *testing.T) {
	t.Parallel()
	t.Run("running", func(t *testing.T) {
		t.Parallel()
		_, client := newClient(t)
		_, err := client.Submit(t.Context(), submission("train-1"))
		require.NoError(t, err)
		job, err := client.StopAndWait(t.Context(), "train-1", time.Minute)
		require.NoError(t, err)
		assert.Equal(t, rayapi.Stopped, job.Status)
	})
	t.Run("pending ignores a stop until it runs", func(t *testing.T) {
		t.Parallel()
		server, client := newClient(t)
		reads := 0
		server.OnSubmit = func(job *rayapi.Job, _ rayapi.Submission) { job.Status = rayapi.Pending }
		server.OnJobRead = func(job *rayapi.Job) {
			if reads++; reads == 4 {
				job.Status = rayapi.Running
			}
		}
		_, err := client.Submit(t.Context(), submission("train-1"))
		require.NoError(t, err)
		job, err := client.StopAndWait(t.Context(), "train-1", time.Minute)
		require.NoError(t, err)
		assert.Equal(t, rayapi.Stopped, job.Status)
	})
	t.Run("pending for ever", func(t *testing.T) {
		t.Parallel()
		server, client := newClient(t)
		server.OnSubmit = func(job *rayapi.Job, _ rayapi.Submission) { job.Status = rayapi.Pending }
		_, err := client.Submit(t.Context(), submission("train-1"))
		require.NoError(t, err)
		job, err := client.StopAndWait(t.Context(), "train-1", 3*time.Second)
		require.ErrorIs(t, err, rayapi.ErrStillActive)
		assert.Equal(t, rayapi.Pending, job.Status)
	})
}

func TestPackageIsPinnedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	uri, err := client.EnsurePackage(t.Context(), []byte("zip"))
	require.NoError(t, err)
	name := rayapi.PackageName([]byte("zip"))
	assert.Equal(t, "gcs://"+name, uri)
	assert.True(t, server.Pinned[name], "an upload alone does not pin")

	_, err = client.EnsurePackage(t.Context(), []byte("zip"))
	require.NoError(t, err)
	assert.Equal(t, 1, server.Seen("PUT "), "present packages are not uploaded again")
	assert.NotEqual(t, name, rayapi.PackageName([]byte("other")), "other content needs another name")
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("line\n", 5000))
	t.Run("returns all lines", func(t *testing.T) {
		t.Parallel()
		server, client := newClient(t)
		server.AddFile("head0", "a.log", long)
		text, err := client.ReadLog(t.Context(), "head0", "a.log")
		require.NoError(t, err)
		assert.Len(t, text, len(long))
		assert.Equal(t, 1, server.Seen("GET /api/v0/logs/file?filename=a.log&lines=-1&node_id=head0&timeout=3600"))
	})
	t.Run("half a file is an error", func(t *testing.T) {
		t.Parallel()
		server, client := newClient(t)
		server.AddFile("head0", "a.log", long)
		server.CutLogs = 100
		text, err := client.ReadLog(t.Context(), "head0", "a.log")
		require.ErrorIs(t, err, rayapi.ErrIncomplete)
		assert.Nil(t, text)
	})
	t.Run("a longer file than the limit is an error, and is not asked for again", func(t *testing.T) {
		t.Parallel()
		server, client := newClient(t)
		server.AddFile("head0", "a.log", long)
		text, err := client.ReadLogAtMost(t.Context(), "head0", "a.log", int64(len(long)))
		require.NoError(t, err)
		assert.Equal(t, long, text)

		text, err = client.ReadLogAtMost(t.Context(), "head0", "a.log", int64(len(long)-1))
		require.ErrorIs(t, err, rayapi.ErrTooLong)
		require.ErrorIs(t, err, rayapi.ErrIncomplete)
		assert.Nil(t, text)
		assert.Equal(t, 2, server.Seen("GET /api/v0/logs/file"))
	})
	t.Run("a dead node is an error", func(t *testing.T) {
		t.Parallel()
		_, client := newClient(t)
		_, err := client.ReadLog(t.Context(), "gone", "a.log")
		require.ErrorContains(t, err, "Failed to query the data source")
	})
}

func TestReadLogEndsWhereAFileDoesNot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return // the client went away
			}
		}
	}))
	t.Cleanup(server.Close)
	client := rayapi.New(rayapi.Options{Transport: &http.Transport{}, BaseURL: server.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := client.ReadLogAtMost(ctx, "head0", "a.log", 1<<20)
	require.ErrorIs(t, err, rayapi.ErrTooLong)
}

func TestListLogsFlattensCategories(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	server.AddFile("head0", "raytrain/x/rank0.json", nil)
	server.AddFile("head0", "raytrain/y/rank0.json", nil)
	files, err := client.ListLogs(t.Context(), "head0", "raytrain/x/*")
	require.NoError(t, err)
	assert.Equal(t, []string{"raytrain/x/rank0.json"}, files)
}

func TestSession(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	version, err := client.Version(t.Context())
	require.NoError(t, err)
	require.NoError(t, client.CheckSession(t.Context(), version.SessionName))
	require.NoError(t, client.CheckSession(t.Context(), ""))
	server.Lock()
	server.Session = "another"
	server.Unlock()
	require.ErrorIs(t, client.CheckSession(t.Context(), version.SessionName), rayapi.ErrHeadRestarted)
}

func TestToken(t *testing.T) {
	t.Parallel()
	server, without := newClient(t)
	server.Token = "secret"
	_, err := without.Version(t.Context())
	require.ErrorIs(t, err, rayapi.ErrUnauthorized)
	_, err = clientOf(server).Version(t.Context())
	require.NoError(t, err)
	server.Token = "other"
	_, err = without.Version(t.Context())
	require.ErrorIs(t, err, rayapi.ErrUnauthorized)
}

func TestTooManyRequestsIsWaitedOut(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	calls := 0
	server.Fail = func(*http.Request) (int, string) {
		if calls++; calls < 4 {
			return http.StatusTooManyRequests, "Max number of in-progress requests=100 reached"
		}
		return 0, ""
	}
	nodes, err := client.Nodes(t.Context())
	require.NoError(t, err)
	assert.Len(t, nodes, 1)
	assert.Equal(t, 4, calls)
}

func TestUnreachableHead(t *testing.T) {
	t.Parallel()
	server, client := newClient(t)
	server.Close()
	_, err := client.Job(t.Context(), "train-1")
	require.ErrorIs(t, err, rayapi.ErrUnreachable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Job(ctx, "train-1")
	require.ErrorIs(t, err, context.Canceled)
}

// A package of the greatest size must arrive over a slow link too.
func TestLargeUploadsHaveTime(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 30*time.Second, rayapi.TimeoutFor(0))
	assert.Greater(t, rayapi.TimeoutFor(rayapi.MaxPackageBytes), 25*time.Minute)
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	require.NoError(t, rayapi.Sleep(t.Context(), time.Nanosecond))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, rayapi.Sleep(cancelled, time.Hour), context.Canceled)
}
