package mutation_test

import (
	"flag"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/mutation"
)

// all tries every mutant, not only the core ones: make mutation-verdict.
var all = flag.Bool("mutation.all", false, "try every mutant, not only the core ones")

const dir = ".."

// TestMutantsAreInStep fails when the judge was changed and the list was not.
func TestMutantsAreInStep(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutation.Mutants() {
		assert.False(t, names[m.Name], "two mutants are called %q", m.Name)
		names[m.Name] = true
		source, err := m.Apply(dir)
		if assert.NoError(t, err) {
			_, err = parser.ParseFile(token.NewFileSet(), m.File, source, 0)
			assert.NoError(t, err, m.Name)
		}
	}
}

// TestMutantsAreKilled removes the conditions of the judge one by one. A mutant
// that lives is a condition that no test holds.
func TestMutantsAreKilled(t *testing.T) {
	t.Parallel()
	for _, m := range mutation.Mutants() {
		if !m.Core && !*all {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			killed, err := m.Killed(t.Context(), dir, t.TempDir())
			require.NoError(t, err)
			assert.True(t, killed, "no test of package transport fails without this condition: %s in %s", m.Search, m.File)
		})
	}
}
