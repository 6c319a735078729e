package benchgen_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth/benchgen"
)

func TestWriteLogFillsTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	const want = 4 << 20
	var b bytes.Buffer
	require.NoError(t, benchgen.WriteLog(&b, want, 1))
	assert.LessOrEqual(t, b.Len(), want)
	assert.Greater(t, b.Len(), want-1024)
	setUp := bytes.LastIndex(b.Bytes(), []byte("Connected all"))
	assert.Less(t, setUp, want*2/3, "the set-up leaves room for training lines")
	assert.Greater(t, setUp, want/4)
}

func TestWriteFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, benchgen.WriteFolder(dir, 32))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 32)
	assert.ErrorContains(t, benchgen.WriteFolder(dir, 12), "multiple of 8")
}
