package evidence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesThatMustNotBecomeAPath(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{
		strings.Repeat("0123abcd", 7): true, "head0": true, "": false, "..": false, "../../..": false, "a/b": false,
		`a\b`: false, "/etc": false, "a.b": false, "a b": false, "é": false, "a\n": false, strings.Repeat("a", 65): false,
	}
	for id, want := range ids {
		assert.Equal(t, want, plainID(id), "node id %q", id)
	}
	names := map[string]bool{
		"rank0.json": true, "rank0.host.12.log": true, "..": false, "../x": false, "a/b": false, "/etc/passwd": false,
		`..\x`: false, "": false, "a\x1b[2J": false, "a\nb": false, strings.Repeat("a", 256): false,
	}
	for name, want := range names {
		assert.Equal(t, want, plainName(name), "file %q", name)
	}
}

// listing answers a listing of files as a head does, but with any names.
func listing(t *testing.T, names ...string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"result": true, "data": map[string]any{"result": map[string][]string{"internal": names}},
	})
	require.NoError(t, err)
	return string(text)
}

func TestForeignNamesAreAGapAndNeverRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		names []string
		says  string
	}{
		{"outside of the job's folder", []string{"raytrain/other-a1/rank0.json"}, "1 of 1 files"},
		{"in the folder of all logs", []string{"rank0.json"}, "1 of 1 files"},
		{"above it", []string{left("../../../x"), left("..")}, "2 of 2 files"},
		{"below it", []string{left("a/rank0.json")}, "a/rank0.json"},
		{"with another system's separator", []string{left(`..\x`)}, "1 of 1 files"},
		{"with an escape sequence", []string{left("rank\x1b[2J.json")}, `\x1b[2J`},
		{"very long", []string{left(strings.Repeat("a", 1<<20))}, "1 of 1 files"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHead(t)
			h.Fail = func(r *http.Request) (int, string) {
				if strings.Contains(r.URL.RequestURI(), listings) && r.URL.Query().Get("node_id") == first {
					return http.StatusOK, listing(t, test.names...)
				}
				return 0, ""
			}
			collector := h.collector(t)
			began := h.now
			err := collector.Finish(t.Context(), h.clock())
			require.ErrorIs(t, err, ErrForeignName)
			require.ErrorContains(t, err, test.says)
			assert.Less(t, len(err.Error()), 500)
			assert.Len(t, collector.Files(), 2, "the other node's files are kept")
			assert.Equal(t, 2, h.Seen("GET "+downloads))
			assert.Equal(t, began, h.now, "waiting changes no name")
		})
	}
}

func TestAForeignNodeIsAGap(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	h.Nodes = append(h.Nodes, rayapi.Node{ID: "../../../../tmp", State: rayapi.Alive})
	collector := h.collector(t)
	err := collector.Finish(t.Context(), h.clock())
	require.ErrorIs(t, err, ErrForeignName)
	require.ErrorContains(t, err, `node id "../../../../tmp"`)
	assert.Len(t, collector.Files(), 4)
	assert.Equal(t, 3, h.Seen("GET "+listings), "the head and two workers")
}

func TestBudget(t *testing.T) {
	t.Parallel()
	sizes := func(h *head) (all int64) {
		for _, files := range h.Files {
			for _, text := range files {
				all += int64(len(text))
			}
		}
		return all
	}
	tests := []struct {
		name   string
		limit  func(h *head) budget
		many   int // further files on the second node
		want   error
		says   string
		atMost int // downloads
	}{
		{"just enough", func(h *head) budget { return budget{4, sizes(h)} }, 0, nil, "", 4},
		{"one byte too many", func(h *head) budget { return budget{4, sizes(h) - 1} }, 0, ErrTooMuch, "more than", 4},
		{"nothing allowed", func(*head) budget { return budget{4, 0} }, 0, ErrTooMuch, "more than 0 bytes", 2},
		{"one file too many", func(h *head) budget { return budget{3, sizes(h)} }, 0, ErrTooMuch, "more than 3 files", 0},
		{"far too many files", func(h *head) budget { return budget{10, sizes(h)} }, 5000, ErrTooMuch, "more than 10 files", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHead(t)
			limit := test.limit(h)
			for i := range test.many {
				h.AddFile(second, left(fmt.Sprintf("rank9.%d.log", i)), nil)
			}
			collector := h.collector(t)
			collector.budget = limit
			began := h.now
			err := collector.Finish(t.Context(), h.clock())
			assert.LessOrEqual(t, h.Seen("GET "+downloads), test.atMost)
			assert.Equal(t, began, h.now, "waiting makes no file smaller")
			assert.LessOrEqual(t, len(collector.files), limit.files)
			assert.LessOrEqual(t, collector.bytes, limit.bytes)
			require.ErrorIs(t, err, test.want)
			if test.want == nil {
				return
			}
			require.ErrorContains(t, err, test.says)
			got, err := Judge(t.Context(), Run{
				Expected: Expected{SubmissionID: job, Nonce: nonce, WorldSize: 2, Nodes: 2},
				Provider: "efa", Status: rayapi.Succeeded, Files: collector.Files(), Gaps: err,
			})
			require.NoError(t, err)
			assert.Equal(t, report.Inconclusive, got.Report.Verdict)
		})
	}
}

// TestFilesThatCannotBeReadAreBoundedToo plays a head that lists without end and
// yields nothing: what is held stays small, but the requests must end as well.
func TestFilesThatCannotBeReadAreBoundedToo(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	for i := range 5000 {
		h.AddFile(first, left(fmt.Sprintf("rank9.%d.log", i)), nil)
	}
	h.refuse(downloads, forever)
	collector := h.collector(t)
	collector.budget.files = 4096
	require.ErrorIs(t, collector.Finish(t.Context(), h.clock()), ErrTooMuch)
	assert.Zero(t, h.Seen("GET "+downloads))
}

func TestCopiesOfManyPassesStayInTheBudget(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	collector := h.collector(t)
	collector.budget.files = 6
	var err error
	for i := range 10 { // new names in each pass, the old ones gone
		clear(h.Files[first])
		h.AddFile(first, left(fmt.Sprintf("rank%d.log", i)), []byte("x"))
		if err = collector.Collect(t.Context()); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, ErrTooMuch)
	assert.Len(t, collector.files, 6)
	var held int64
	for _, size := range collector.files {
		held += size
	}
	assert.Equal(t, held, collector.bytes)
}

func TestNamesOfFilesAreUnique(t *testing.T) {
	t.Parallel()
	collector := NewCollector(nil, Copies{SubmissionID: job})
	for _, key := range []fileKey{
		{"aaaaaaaa1", "rank0.json"},
		{"aaaaaaaa1", "rank1.json"}, {"bbbbbbbb1", "rank1.json"},
		{"aaaaaaaa1", "rank2.json"}, {"aaaaaaaa2", "rank2.json"},
	} {
		collector.files[key] = 0
	}
	var names []string
	for _, file := range collector.Files() {
		names = append(names, file.Name)
	}
	assert.Equal(t, []string{
		"aaaaaaaa/rank1.json", "aaaaaaaa1/rank2.json", "aaaaaaaa2/rank2.json", "bbbbbbbb/rank1.json", "rank0.json",
	}, names)
}

func TestArchiveMovesWithinItsFolderOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copied := func(name, text string) File {
		at := filepath.Join(dir, job, incoming, filepath.Base(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), folderMode))
		require.NoError(t, os.WriteFile(at, []byte(text), fileMode))
		return File{Name: name, Path: at, Size: int64(len(text))}
	}
	bundle := Bundle{SubmissionID: job}
	result := report.Report{Verdict: report.Inconclusive}
	said := copied("driver.log", "said")
	written, err := Archive(dir, bundle, result, []File{copied("rank0.json", "0"), copied("aaaaaaaa/rank1.json", "1")}, &said)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, job, "report.txt"), written)
	for name, want := range map[string]string{"driver.log": "said", "ranks/rank0.json": "0", "ranks/aaaaaaaa/rank1.json": "1"} {
		text, err := os.ReadFile(filepath.Join(dir, job, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, job, "ranks", "link")))
	for _, name := range []string{"../report.txt", "../../../x", "a/../../report.json", "/x", "link/x"} {
		_, err := Archive(dir, bundle, result, []File{copied(name, "outside")}, nil)
		require.ErrorContains(t, err, fmt.Sprintf("%q", name))
	}
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, left)
	for _, name := range []string{"report.txt", "report.json"} {
		text, err := os.ReadFile(filepath.Join(dir, job, name))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "outside")
	}
	elsewhere := onDisk(t, first, "rank2.json", []byte("of another folder"))
	_, err = Archive(dir, bundle, result, []File{elsewhere}, nil)
	require.ErrorContains(t, err, `"rank2.json"`)
}
