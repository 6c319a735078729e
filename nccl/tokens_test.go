package nccl

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAppendTokens compares the fast search with the plain one over random texts
// of the token's own letters, at every length around the width of a vector, and
// with hits so dense that they outgrow the space at hand.
func TestAppendTokens(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 20_000 {
		size := 400
		if round%100 == 0 {
			size = 20_000
		}
		b := make([]byte, rng.IntN(size))
		for i := range b {
			b[i] = "NCCL \nxCL "[rng.IntN(10)]
		}
		for range rng.IntN(1 + len(b)/8) {
			copy(b[rng.IntN(len(b)):], token)
		}
		b = b[:len(b):len(b)]
		want, lines := appendTokensPortable([]hit{}, b, 0, 0)
		got, n := appendTokens([]hit{}, b)
		require.Equal(t, want, got, "%q", b)
		require.Equal(t, lines, n, "%q", b)
	}
	got, lines := appendTokens(nil, nil)
	require.Empty(t, got)
	require.Zero(t, lines)
}
