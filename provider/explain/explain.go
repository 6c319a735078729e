// Package explain has the meaning of every finding that a report can have: those of the verdict, and
// those that the gate and a submission add about the cluster, the job and its evidence. It imports
// no platform, so that raytrain can print them.
package explain

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// Codes lists the code of every finding: the verdict's, then those that only the gate reports.
func Codes() []string {
	var names []string
	for _, c := range finding.Codes() {
		names = append(names, c.String())
	}
	for _, e := range rows() {
		names = append(names, e.Code)
	}
	return names
}

// Find returns what the finding with a code means, and reports whether there is such a code.
func Find(code string) (e finding.Explanation, ok bool) {
	if e, ok = finding.Explain(code); ok {
		return e, true
	}
	all := rows()
	i := slices.IndexFunc(all, func(e finding.Explanation) bool { return e.Code == code })
	if i < 0 {
		return finding.Explanation{}, false
	}
	return all[i], true
}

// rows returns the gate's own findings, in the order of a run.
func rows() []finding.Explanation {
	return slices.Concat(preflightRows(), failureRows(), runRows(), evidenceRows())
}
