package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestForms reads every form's own line as a record and expects what the form
// says, so that no form hides behind an earlier one.
func TestForms(t *testing.T) {
	t.Parallel()
	g := NewGrammar()
	for _, f := range append(mainForms(), noteForms()...) {
		t.Run(f.example, func(t *testing.T) {
			t.Parallel()
			var blk Block
			blk.Reset([]byte("node-1:12:34 [0] NCCL INFO "+f.example+"\n"), nil)
			NewScanner(g).Scan(&blk)
			require.Len(t, blk.Events, 1)
			e := blk.Events[0]
			assert.NotEqual(t, KindNone, e.Kind)
			assert.NotEqual(t, KindTorn, e.Kind)
			assert.Equal(t, f.fails, e.Fails)
			if f.parse == nil {
				assert.Equal(t, KindNote, e.Kind)
				assert.Equal(t, f.code, e.Code)
			}
			assert.Equal(t, "node-1", string(blk.Origins[e.From].Host))
		})
	}
}

// TestNoForms checks that lines which look like a form mean nothing.
func TestNoForms(t *testing.T) {
	t.Parallel()
	g := NewGrammar()
	for _, msg := range []string{
		"Channel 00/02 :    0   1   2   3",
		"Channel 00 :    0   1   2   3",
		"Ring 00 : 7 -> 0 -> 1",
		"CollNet [send] : rank 0 collNetRank 0 collNetNranks 2 received connect from rank 8",
		"CollNet channel 0 rank 1 up 4 down 2",
		"Connected to proxy localRank 0 -> connection 0x7f10",
		"Connected collnet + chain",
		"Connected Collnet Chains [send] 0 [recv] 0",
		"rank 3 Connected CollNet",
		"Rank 1 has color with NCCL_SPLIT_NOCOLOR, not creating a new communicator",
		"CommRevokeAsync START comm 0x7f10 rank 0 nRanks 2 nNodes 2 localRank 0 cudaDev 0",
		"AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7f count 4 datatype 7 op 0 root 0 comm 0x7f10 [nranks=2] stream 0x7f",
	} {
		t.Run(msg, func(t *testing.T) {
			t.Parallel()
			var blk Block
			blk.Reset([]byte("node-1:12:34 [0] NCCL INFO "+msg+"\n"), nil)
			NewScanner(g).Scan(&blk)
			assert.Empty(t, blk.Events)
		})
	}
}
