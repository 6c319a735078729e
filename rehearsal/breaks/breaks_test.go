package breaks_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/breaks"
)

// all runs the broken programs, which takes half an hour: make breaks.
var all = flag.Bool("breaks.all", false,
	"run the tests and a whole rehearsal of each broken program")

// patience is the time limit of a refusal on a busy machine. On an idle one each takes less than
// two minutes.
const patience = 4 * time.Minute

func onlyIfAsked(t *testing.T) {
	t.Helper()
	if !*all {
		t.Skip("half an hour on two cores: make breaks")
	}
}

func checkout(t *testing.T) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	return root
}

// TestBreaksHaveTheirOwnNames checks the table.
func TestBreaksHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	for i, b := range breaks.Table() {
		found, err := breaks.Find(b.Name)
		require.NoError(t, err)
		assert.Equal(t, breaks.Table()[i], found, "two breaks are called %q", b.Name)
	}
	_, err := breaks.Find("none")
	assert.ErrorContains(t, err, "no group on the interface")
}

// TestBreaksTurnTestsRed breaks the program in every known way, one at a time. A break that no test
// detects would be found only on AWS.
func TestBreaksTurnTestsRed(t *testing.T) {
	onlyIfAsked(t)
	for _, b := range breaks.Table() {
		t.Run(b.Name, func(t *testing.T) {
			red, out, err := b.TestsFail(t.Context(), checkout(t))
			require.NoError(t, err)
			assert.True(t, red, "not every one of %s fails:\n%s", b.FailingTests, out)
		})
	}
}

// TestBreaksAreRefused rehearses every broken program. It must be refused at the same point as on
// AWS, by a message with the cause, the next command and the costs, and leave no resources.
func TestBreaksAreRefused(t *testing.T) {
	onlyIfAsked(t)
	for _, b := range breaks.Table() {
		t.Run(b.Name, func(t *testing.T) {
			result, out, err := b.Rehearse(t.Context(), checkout(t), t.TempDir())
			require.NoError(t, err)
			t.Log(out)
			assert.Equal(t, 2, result.Exit)
			assert.Equal(t, b.Phase, result.Phase)
			assert.NotEqual(t, "efa", result.Verdict)
			if assert.NotNil(t, result.AccountEmpty) {
				assert.True(t, *result.AccountEmpty)
			}
			for _, said := range append([]string{"\ncause:    ", "\nnext:     ", "\nbilling:  nothing in a rehearsal; on AWS", "$9.67 per hour"}, b.Says...) {
				assert.Contains(t, out, said)
			}
			assert.Less(t, result.Seconds.Preview+result.Seconds.Up, patience.Seconds(),
				"resources cost money until the refusal")
		})
	}
}
