package evidence

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	const token = "abcabd"
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"nothing", "nothing"},
		{"abcabd", "[token removed]"},
		{"xabcabcabdabcabdy", "xabc[token removed][token removed]y"},
		{"ends with a part: abcab", "ends with a part: abcab"},
		{"abcab abcabd\n", "abcab [token removed]\n"},
	} {
		for _, split := range []func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader,
		} {
			var out strings.Builder
			redactor := NewRedactor(&out, token)
			_, err := io.Copy(redactor, split(strings.NewReader(test.in)))
			require.NoError(t, err)
			require.NoError(t, redactor.Flush())
			assert.Equal(t, test.want, out.String(), "%q", test.in)
		}
	}
	var out strings.Builder
	_, err := NewRedactor(&out, "").Write([]byte("abc"))
	require.NoError(t, err)
	assert.Equal(t, "abc", out.String())
}

// What is copied has no token, also on this machine's disk.
func TestCopiesHaveNoToken(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	h.Token = "s3cret-token"
	h.AddFile(first, left("rank0.json"), []byte("RAY_AUTH_TOKEN=s3cret-token"))
	h.AddFile("head0", "job-driver-"+job+".log", []byte("the token is s3cret-token\n"))
	collector := h.collector(t)
	collector.token = h.Token
	collector.ray = rayapi.New(rayapi.Options{BaseURL: h.URL(), Token: h.Token})
	require.NoError(t, collector.Finish(t.Context(), h.clock()))
	driver, err := collector.DriverLog(t.Context(), rayapi.Job{SubmissionID: job, DriverNodeID: "head0"})
	require.NoError(t, err)
	assert.Equal(t, "the token is [token removed]\n", string(driver.Tail()))
	assert.Equal(t, driver.Size, int64(len(driver.Tail())))
	removed := 0
	for _, file := range collector.Files() {
		text := content(t, file)
		assert.NotContains(t, text, h.Token)
		removed += strings.Count(text, "RAY_AUTH_TOKEN=[token removed]")
	}
	assert.Equal(t, 1, removed)
}

func TestCloseLeavesOnlyTheReport(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	dir := t.TempDir()
	stale := filepath.Join(dir, job, incoming, first, "rank7.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(stale), folderMode))
	require.NoError(t, os.WriteFile(stale, []byte("of an update that was killed"), fileMode))

	collector := NewCollector(h.client(), Copies{SubmissionID: job, Dir: dir})
	require.NoError(t, collector.Finish(t.Context(), h.clock()))
	assert.NoFileExists(t, stale)
	require.NoError(t, collector.Close())
	assert.NoDirExists(t, filepath.Join(dir, job), "nothing was archived")
	require.NoError(t, collector.Close(), "closing again")

	collector = NewCollector(h.client(), Copies{SubmissionID: job, Dir: dir})
	require.NoError(t, collector.Finish(t.Context(), h.clock()))
	_, err := Archive(dir, Bundle{SubmissionID: job}, report.Report{}, collector.Files(), nil)
	require.NoError(t, err)
	require.NoError(t, collector.Close())
	assert.NoDirExists(t, filepath.Join(dir, job, incoming))
	ranks, err := os.ReadDir(filepath.Join(dir, job, "ranks"))
	require.NoError(t, err)
	assert.Len(t, ranks, 4)
}

// A copy that this machine cannot store says nothing about the run, so it is no gap that waiting or
// another pass could close.
func TestCopiesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, fileMode))
	collector := NewCollector(h.client(), Copies{SubmissionID: job, Dir: file})
	began := h.now
	err := collector.Finish(t.Context(), h.clock())
	require.ErrorIs(t, err, ErrNotStored)
	var failed *os.PathError
	require.ErrorAs(t, err, &failed, "the gate explains it")
	assert.Equal(t, began, h.now, "waiting frees no disk")
	assert.Empty(t, collector.Files())
	assert.Zero(t, collector.bytes)
	require.NoError(t, collector.Close())
}

// A file that breaks off leaves the copy of an earlier pass as it was.
func TestACopyIsReplacedWhole(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	collector := h.collector(t)
	require.NoError(t, collector.Collect(t.Context()))
	held := collector.bytes
	before := map[string]string{}
	for _, file := range collector.Files() {
		before[file.Name] = content(t, file)
	}
	for _, files := range h.Files {
		for name, text := range files {
			files[name] = append([]byte("more "), text...)
		}
	}
	h.CutLogs = 10
	err := collector.Collect(t.Context())
	require.ErrorIs(t, err, rayapi.ErrIncomplete)
	assert.Equal(t, held, collector.bytes)
	for _, file := range collector.Files() {
		assert.Equal(t, before[file.Name], content(t, file))
	}
	h.CutLogs = 0
	require.NoError(t, collector.Collect(t.Context()))
	assert.Equal(t, held+4*int64(len("more ")), collector.bytes)
}

func TestAManifestThatIsTooLong(t *testing.T) {
	t.Parallel()
	file := onDisk(t, first, "rank0.json", []byte(`{"rank": 0}`+strings.Repeat(" ", maxJSON)))
	_, problem := parseManifest(file, Expected{WorldSize: 1})
	require.NotNil(t, problem)
	assert.Contains(t, problem.Text, "at most")
}
