//go:build unix

package nccl

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileCutWhileMapped cuts a log to several lengths after it was mapped, as
// copytruncate does: an error, where the pages that are gone would otherwise end
// the program with SIGBUS, or be read as zeros.
func TestFileCutWhileMapped(t *testing.T) {
	t.Parallel()
	line := []byte("h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n")
	for _, left := range []int64{0, 1, 4096, blockSize + 5, 8<<20 - 1} {
		path := filepath.Join(t.TempDir(), "job.log")
		require.NoError(t, os.WriteFile(path, bytes.Repeat(line, 8<<20/len(line)+1)[:8<<20], 0o600))
		m, err := mapFile(path)
		require.NoError(t, err)
		require.NoError(t, m.intact())
		require.NoError(t, os.Truncate(path, left))
		rd := &reader{grammar: newGrammar(), workers: 2}
		err = rd.blocks(context.Background(), newLogFile(path, 0), m.data)
		if left < 8<<20-4096 {
			require.ErrorIs(t, err, errCut, "%d bytes left", left)
		}
		require.ErrorIs(t, m.intact(), errCut)
		require.NoError(t, m.close())
	}
}

// TestWithoutFaultPassesOtherPanicsOn keeps mistakes of ours from being taken
// for a file's.
func TestWithoutFaultPassesOtherPanicsOn(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "a mistake", func() { _ = withoutFault(func() { panic("a mistake") }) })
	require.Panics(t, func() { _ = withoutFault(func() { _ = []int{}[len(t.Name())] }) })
	require.NoError(t, withoutFault(func() {}))
}
