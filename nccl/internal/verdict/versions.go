package verdict

import "github.com/ray-train-efa/ray-train-efa/nccl/finding"

// versions blocks the verdict efa if NCCL is too old to print the required lines.
func (j *runJudge) versions() {
	for _, o := range j.ev.Outdated {
		j.block(finding.VersionTooOld, noRank, o.At, o.Detail)
	}
}
