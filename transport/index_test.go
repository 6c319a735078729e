package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexToken compares the fast search with bytes.Index over random texts of
// the token's own letters, at every length around the width of a vector.
func TestIndexToken(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, rng.IntN(300))
		for i := range b {
			b[i] = "NCCL xCL "[rng.IntN(9)]
		}
		if len(b) > 5 && rng.IntN(2) == 0 {
			copy(b[rng.IntN(len(b)):], token)
		}
		require.Equal(t, bytes.Index(b, []byte(token)), indexToken(b), "%q", b)
		b = b[:len(b):len(b)]
	}
	require.Equal(t, -1, indexToken(nil))
}
