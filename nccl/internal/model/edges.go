package model

import "github.com/ray-train-efa/ray-train-efa/nccl/internal/record"

// end is one direction between a member and a peer, as the member printed it.
type end struct {
	Peer     int32
	Receives bool
	Channels int32
}

// addEnd counts channel lines for the pictures. Neighboring lines usually name the same peer, and
// the peers of rings and trees are few.
func (t *Tally) addEnd(ch *record.ChannelLine, lines int) {
	peer, receives := ch.Peer(), ch.Dir == record.Receiving
	for i := len(t.Ends) - 1; i >= 0; i-- {
		if e := &t.Ends[i]; e.Peer == peer && e.Receives == receives {
			e.Channels += int32(lines)
			return
		}
	}
	if len(t.Ends) < maxPeers {
		t.Ends = append(t.Ends, end{peer, receives, int32(lines)})
	}
}
