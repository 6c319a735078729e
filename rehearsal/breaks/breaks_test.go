package breaks_test

import (
	"flag"
	"go/parser"
	"go/token"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/breaks"
)

// all runs the broken programs, which takes half an hour: make breaks.
var all = flag.Bool("breaks.all", false, "run the tests and a whole rehearsal of each broken program")

// patience is how long a refusal may take on a machine that does other things
// too; on an idle one all of them come within two minutes.
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

// TestBreaksAreInStep fails when the program was changed and the list was not.
func TestBreaksAreInStep(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, b := range breaks.Table() {
		assert.False(t, names[b.Name], "two breaks are called %q", b.Name)
		names[b.Name] = true
		sources, err := b.Sources(checkout(t))
		if !assert.NoError(t, err) {
			continue
		}
		for file, source := range sources {
			_, err = parser.ParseFile(token.NewFileSet(), file, source, 0)
			assert.NoError(t, err, b.Name)
		}
	}
}

// TestBreaksTurnTestsRed breaks the program in every known way, one at a time. A
// break that stays green is one that nobody would be told of before AWS is.
func TestBreaksTurnTestsRed(t *testing.T) {
	onlyIfAsked(t)
	for _, b := range breaks.Table() {
		t.Run(b.Name, func(t *testing.T) {
			red, out, err := b.TurnsRed(t.Context(), checkout(t), t.TempDir())
			require.NoError(t, err)
			assert.True(t, red, "not every one of %s fails:\n%s", b.Red, out)
		})
	}
}

// TestBreaksAreRefused rehearses every broken program. It must be refused where
// AWS would stop it, by a message that names the cause, the next command and the
// bill, and leave nothing behind.
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
			for _, said := range append([]string{"\ncause:    ", "\nnext:     ", "\nbilling:  nothing in a rehearsal; on AWS", "$9.55 per hour"}, b.Says...) {
				assert.Contains(t, out, said)
			}
			assert.Less(t, result.Seconds.Preview+result.Seconds.Up, patience.Seconds(), "whoever waits pays")
		})
	}
}
