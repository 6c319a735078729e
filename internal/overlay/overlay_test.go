package overlay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/overlay"
)

func TestWriteListsChangedCopies(t *testing.T) {
	t.Parallel()
	root, scratch := t.TempDir(), t.TempDir()
	source := filepath.Join(root, "a", "b.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(source), 0o750))
	require.NoError(t, os.WriteFile(source, []byte("one two three"), 0o600))

	list, err := overlay.Write(root, scratch, overlay.Edit{File: "a/b.go", Search: "one", Replace: "1"}, overlay.Edit{File: "a/b.go", Search: "three", Replace: "3"})
	require.NoError(t, err)
	body, err := os.ReadFile(list)
	require.NoError(t, err)
	var got struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(body, &got))
	require.Contains(t, got.Replace, source)
	changed, err := os.ReadFile(got.Replace[source])
	require.NoError(t, err)
	assert.Equal(t, "1 two 3", string(changed), "both edits of one file hold")
	kept, err := os.ReadFile(source)
	require.NoError(t, err)
	assert.Equal(t, "one two three", string(kept), "the checkout stays untouched")
}

func TestEditsOutOfStep(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "c.go"), []byte("twice twice"), 0o600))
	for _, search := range []string{"never", "twice"} {
		_, err := overlay.Sources(root, overlay.Edit{File: "c.go", Search: search})
		require.ErrorIs(t, err, overlay.ErrOutOfStep, search)
		require.ErrorContains(t, err, "c.go")
	}
	_, err := overlay.Sources(root, overlay.Edit{File: "none.go", Search: "x"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
