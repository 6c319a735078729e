package verdict

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// orphanChannels counts channels that belong to no communicator in evidence.
// They can show another network but never prove EFA.
func (j *runJudge) orphanChannels() {
	var wide map[rankKey]bool
	for _, l := range j.ev.Orphans {
		copied := l.Proc.File.Repeats > 0
		if copied && wide == nil {
			wide = internodeRanks(j.ev)
		}
		if copied && !wide[rankKey{l.Proc.Host, l.Proc.PID, l.Rank}] {
			continue // channels inside a node, or of a rank that dedup already marks
		}
		final, _ := l.Proc.Provided()
		for i := range l.Tallies {
			t := &l.Tallies[i]
			if copied && record.IsEFANetwork(record.NetworkOf(t.Label)) {
				continue
			}
			k := classify(t, final, report.TrafficUnknown)
			if k == report.TrafficLocal {
				continue
			}
			j.count(k, t, l.Rank)
			j.block(finding.RankMissing, l.Rank, t.First, "channels of a rank whose communicator is not in evidence")
		}
	}
}

// rankKey is a rank of a process, whichever communicator it is in.
type rankKey struct {
	host string
	pid  int32
	rank int32
}

// internodeRanks lists the ranks that a log without Ray's de-duplication shows
// in a communicator that spans nodes.
func internodeRanks(ev *model.Evidence) map[rankKey]bool {
	ranks := map[rankKey]bool{}
	for _, c := range ev.Comms {
		if !c.Spans() {
			continue
		}
		for _, r := range c.Ranks {
			if r.Clean() {
				ranks[rankKey{r.Host, r.PID, r.Rank}] = true
			}
		}
	}
	return ranks
}
