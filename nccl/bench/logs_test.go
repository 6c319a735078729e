package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogs checks that each log has the given size and is judged efa.
func TestLogs(t *testing.T) {
	t.Parallel()
	const want = 8 << 20
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, s.writeLog(&b, want))
			assert.LessOrEqual(t, b.Len(), want)
			assert.Greater(t, b.Len(), want-1024)
			setUp := bytes.LastIndex(b.Bytes(), []byte("Connected all"))
			assert.Less(t, setUp, want/2, "the set-up leaves room for other lines")
			got, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource("job.log", b.Bytes())}, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, report.EFA, got.Verdict, got.Findings)
		})
	}
}

func TestWriteFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, writeFolder(dir, 32))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 32)
	assert.ErrorContains(t, writeFolder(dir, 12), "multiple of 8")
}

func TestAnonymousMemory(t *testing.T) {
	t.Parallel()
	assert.Equal(t, int64(5120), anonymous("VmRSS:\t  9 kB\nRssAnon:\t       5 kB\nRssFile:\t 4 kB\n"))
	assert.Zero(t, anonymous("State:\tZ (zombie)\n"))
	ended := make(chan struct{})
	close(ended)
	assert.Positive(t, sampleMemory(os.Getpid(), ended))
}
