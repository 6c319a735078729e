package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestForms reads every form's own line as a record and expects what the form
// says, so that no form hides behind an earlier one.
func TestForms(t *testing.T) {
	t.Parallel()
	g := newGrammar()
	for _, f := range append(mainForms(), noteForms()...) {
		t.Run(f.like, func(t *testing.T) {
			t.Parallel()
			var blk block
			blk.reset([]byte("node-1:12:34 [0] NCCL INFO "+f.like+"\n"), nil)
			newScanner(g).scan(&blk)
			require.Len(t, blk.events, 1)
			e := blk.events[0]
			assert.NotEqual(t, evNone, e.kind)
			assert.NotEqual(t, evTorn, e.kind)
			assert.Equal(t, f.fails, e.fails)
			if f.parse == nil {
				assert.Equal(t, evNote, e.kind)
				assert.Equal(t, f.code, e.code)
			}
			assert.Equal(t, "node-1", string(blk.origins[e.from].host))
		})
	}
}
