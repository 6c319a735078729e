package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	job    = "train-0-a1"
	nonce  = "5eed"
	busy   = "Traceback\nDataSourceUnavailable: Failed to query the data source"
	first  = "aaaaaaaa11111111"
	second = "bbbbbbbb22222222"
)

// head is a Ray head with two workers on which a run on EFA has left its files,
// and a clock that does not wait.
type head struct {
	*raytest.Server

	now time.Time
	// onSleep runs in each pause of the collection.
	onSleep func()
}

func newHead(t *testing.T) *head {
	t.Helper()
	h := &head{Server: raytest.New(), now: time.Unix(1_700_000_000, 0)}
	t.Cleanup(h.Close)
	for _, id := range []string{first, second} {
		h.Nodes = append(h.Nodes, rayapi.Node{ID: id, State: rayapi.Alive})
	}
	run := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 1, Channels: 2, Fabric: synth.OnEFA, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean, Pin: "Libfabric",
	}
	files, _ := run.Generate()
	require.Len(t, files, 2)
	for rank, node := range []string{first, second} {
		manifest, err := json.Marshal(Manifest{
			Rank: rank, WorldSize: 2, Node: node, Nonce: nonce, SubmissionID: job, NCCLFile: files[rank].Name,
		})
		require.NoError(t, err)
		h.AddFile(node, left(files[rank].Name), files[rank].Data)
		h.AddFile(node, left(fmt.Sprintf("rank%d.json", rank)), manifest)
	}
	return h
}

// onDisk returns a file of a node as a collector copies it.
func onDisk(t *testing.T, node, name string, text []byte) File {
	t.Helper()
	copied := filepath.Join(t.TempDir(), path.Base(name))
	require.NoError(t, os.WriteFile(copied, text, fileMode))
	return File{Node: node, Name: name, Path: copied, Size: int64(len(text))}
}

func content(t *testing.T, file File) string {
	t.Helper()
	text, err := os.ReadFile(file.Path)
	require.NoError(t, err)
	assert.Len(t, text, int(file.Size))
	return string(text)
}

// left is where the training code leaves a file.
func left(base string) string { return "raytrain/" + job + "/" + base }

func (h *head) client() *rayapi.Client {
	return rayapi.New(rayapi.Options{
		Transport: &http.Transport{DisableKeepAlives: true}, BaseURL: h.URL(),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
}

// collector returns a collector of the job's files, closed at the end of the test.
func (h *head) collector(t *testing.T) *Collector {
	t.Helper()
	collector := NewCollector(h.client(), Copies{SubmissionID: job, Dir: t.TempDir()})
	t.Cleanup(func() { require.NoError(t, collector.Close()) })
	return collector
}

func (h *head) clock() Clock {
	return Clock{
		Now: func() time.Time { return h.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			h.now = h.now.Add(d)
			if h.onSleep != nil {
				h.onSleep()
			}
			return ctx.Err()
		},
	}
}

// die takes a worker away.
func (h *head) die(id string) { h.state(id, "DEAD") }

func (h *head) state(id string, state rayapi.NodeState) {
	h.Lock()
	defer h.Unlock()
	for i := range h.Nodes {
		if h.Nodes[i].ID == id {
			h.Nodes[i].State = state
		}
	}
}

// refuse answers the next so many requests that name text with 500.
func (h *head) refuse(text string, times int) {
	h.Fail = func(r *http.Request) (int, string) {
		if times > 0 && strings.Contains(r.URL.RequestURI(), text) {
			times--
			return http.StatusInternalServerError, busy
		}
		return 0, ""
	}
}

const (
	listings  = "/api/v0/logs?"
	downloads = "/api/v0/logs/file?"
	forever   = 1 << 30
)

// TestFinish copies a run's files while it runs, then lets something happen, and
// collects for the last time.
func TestFinish(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*head)
		// want is the gap's error, nil for none; says is part of its text.
		want error
		says string
		// waits is how long the collection may take at least and at most.
		least, most time.Duration
		verdict     report.Verdict
	}{
		{"nothing", func(*head) {}, nil, "", 0, 0, report.EFA},
		{"a node dies", func(h *head) { h.die(second) }, ErrStale, `2 files of node "` + second + `"`, retryTimeout, retryTimeout + retryPause, report.Inconclusive},
		{"a node is forgotten", func(h *head) { h.Nodes = h.Nodes[:2] }, ErrStale, second, retryTimeout, retryTimeout + retryPause, report.Inconclusive},
		{"a node's listing comes back empty", func(h *head) { clear(h.Files[first]) }, ErrStale, first, retryTimeout, retryTimeout + retryPause, report.Inconclusive},
		{"one file is gone", func(h *head) { delete(h.Files[first], left("rank0.json")) }, ErrStale, "1 files of node", retryTimeout, retryTimeout + retryPause, report.Inconclusive},
		{"a node dies and comes back", func(h *head) {
			h.die(second)
			h.onSleep = func() { h.state(second, rayapi.Alive) }
		}, nil, "", retryPause, retryPause, report.EFA},
		{"an agent is busy for one listing", func(h *head) { h.refuse(listings, 1) }, nil, "", retryPause, retryPause, report.EFA},
		{"an agent is busy for one file", func(h *head) { h.refuse(downloads, 1) }, nil, "", retryPause, retryPause, report.EFA},
		{"the head is busy for some time", func(h *head) { h.refuse("/api/v0/nodes", 5) }, nil, "", 5 * retryPause, 5 * retryPause, report.EFA},
		{"an agent is busy for ever", func(h *head) { h.refuse(listings, forever) }, ErrStale, "Failed to query the data source", retryTimeout, retryTimeout + retryPause, report.Inconclusive},
		{"a file appears late", func(h *head) {
			late := h.Files[second][left("rank1.json")]
			delete(h.Files[second], left("rank1.json"))
			h.onSleep = func() { h.AddFile(second, left("rank1.json"), late) }
		}, nil, "", retryPause, retryPause, report.EFA},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHead(t)
			collector := h.collector(t)
			require.NoError(t, collector.Collect(t.Context()))
			require.Len(t, collector.Files(), 4)
			test.happens(h)
			began := h.now
			gaps := collector.Finish(t.Context(), h.clock())
			assert.GreaterOrEqual(t, h.now.Sub(began), test.least)
			assert.LessOrEqual(t, h.now.Sub(began), test.most)
			require.ErrorIs(t, gaps, test.want)
			if test.want != nil {
				require.ErrorContains(t, gaps, test.says)
			}
			assert.Len(t, collector.Files(), 4, "copies from while the job ran still show what happened")

			got, err := Judge(t.Context(), Run{
				Expected: Expected{SubmissionID: job, Nonce: nonce, WorldSize: 2, Nodes: 2},
				Provider: "efa", Status: rayapi.Succeeded, Files: collector.Files(), Gaps: gaps,
			})
			require.NoError(t, err)
			assert.Equal(t, test.verdict, got.Report.Verdict)
		})
	}
}

func TestAGapWithoutAnyCopyIsTriedAgainToo(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	h.refuse(downloads, 1)
	collector := h.collector(t)
	require.NoError(t, collector.Finish(t.Context(), h.clock()))
	assert.Len(t, collector.Files(), 4)
	assert.Equal(t, 5, h.Seen("GET "+downloads), "only what is missing is read again")

	h = newHead(t)
	h.refuse(downloads, forever)
	collector = h.collector(t)
	require.ErrorContains(t, collector.Finish(t.Context(), h.clock()), "HTTP 500")
	assert.Empty(t, collector.Files())
}

func TestFinishReadsEveryFileAnew(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	collector := h.collector(t)
	require.NoError(t, collector.Collect(t.Context()))
	h.AddFile(first, left("rank0.json"), []byte("written since"))
	require.NoError(t, collector.Finish(t.Context(), h.clock()))
	texts := map[string]string{}
	for _, file := range collector.Files() {
		texts[file.Name] = content(t, file)
	}
	assert.Equal(t, "written since", texts["rank0.json"])
}

func TestCollectWhileTheJobRunsIsNoGap(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	collector := h.collector(t)
	require.NoError(t, collector.Collect(t.Context()))
	h.die(second)
	require.NoError(t, collector.Collect(t.Context()))
	assert.Len(t, collector.Files(), 4)
}

func TestFinishEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	h.refuse(listings, forever)
	ctx, cancel := context.WithCancel(t.Context())
	h.onSleep = cancel
	began := h.now
	require.ErrorIs(t, h.collector(t).Finish(ctx, h.clock()), context.Canceled)
	assert.Equal(t, retryPause, h.now.Sub(began))
}

func TestGapsAreExplained(t *testing.T) {
	t.Parallel()
	tests := []struct {
		gaps        error
		cause, next string
	}{
		{fmt.Errorf("x: %w", ErrStale), "were gone after the job", "kubectl get nodes"},
		{fmt.Errorf("x: %w: %w", ErrTooMuch, ErrStale), "NCCL_DEBUG=TRACE", "NCCL_DEBUG=INFO"},
		{fmt.Errorf("x: %w: %w", ErrForeignName, ErrStale), "returned an unexpected node id or file name", "kubectl get pods"},
		{rayapi.ErrUnreachable, "could not be read", "pulumi up"},
	}
	for _, test := range tests {
		found := gap(Run{Gaps: test.gaps, Again: "pulumi up"})
		assert.Equal(t, "evidence-incomplete", found.Code)
		assert.Equal(t, report.Error, found.Severity)
		assert.Contains(t, found.Cause, test.cause)
		assert.Contains(t, found.Next, test.next)
	}
	long := gap(Run{Gaps: fmt.Errorf("x: %w: %s", ErrStale, strings.Repeat("é", gapText))})
	assert.LessOrEqual(t, len(long.Text), gapText+len(" ..."))
	assert.True(t, strings.HasSuffix(long.Text, "é ..."), "no half character, and it says that there is more")
}

func TestARestartedHeadExplainsTheGaps(t *testing.T) {
	t.Parallel()
	found := checkRun(Run{Gaps: ErrStale})
	require.GreaterOrEqual(t, len(found), 2)
	assert.Equal(t, "ray-head-restarted", found[0].Code)
	assert.Equal(t, "evidence-incomplete", found[1].Code)
}
