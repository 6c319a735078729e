package verdict

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// checkExpected compares the largest communicator with the expectations.
func (j *runJudge) checkExpected() {
	c := model.Largest(j.run.Comms)
	if c == nil {
		return
	}
	if want := j.opts.WorldSize; want > 0 && int(c.Size) != want {
		j.block(finding.WorldSizeMismatch, noRank, c.Ranks[0].First(), fmt.Sprintf("%d ranks expected, %d found", want, c.Size))
	}
	have := c.NodeCount()
	if missing, _ := c.Missing(); missing == 0 && have > c.DistinctHosts() && c.DistinctHosts() > 1 {
		have = c.DistinctHosts() // NCCL's count is no evidence; of one host OneHost reports that
	}
	if want := j.opts.Nodes; want > 0 && have != want {
		j.block(finding.NodesMismatch, noRank, c.Ranks[0].First(), fmt.Sprintf("%d nodes expected, %s found", want, orUnknown(have)))
	}
	if want := j.opts.Provider; want != "" && want != record.EFAProvider && j.efa > 0 {
		j.block(finding.ProviderUnexpected, noRank, model.Ref{}, fmt.Sprintf("%q was expected", want))
	}
}
