package model

import "github.com/ray-train-efa/ray-train-efa/nccl/internal/record"

// Outdated is a version line of an NCCL that is too old.
type Outdated struct {
	At     Ref
	Detail string
}

// findOutdated lists them once for all runs, because the number of runs times processes may be
// large.
func findOutdated(files []*File) []Outdated {
	var old []Outdated
	for _, f := range files {
		if v := record.UnprefixedVersion(f.Version.Text); tooOld(v) {
			old = append(old, Outdated{f.Version, ""})
		}
		for _, p := range f.Procs {
			if tooOld(p.Version) {
				old = append(old, Outdated{p.First, "NCCL " + p.Version})
			}
		}
	}
	return old
}

// tooOld reports whether a version is below 2.6.4, which prints no network.
func tooOld(version string) bool {
	n, ok := record.VersionNumber(version)
	return ok && n < 2<<16|6<<8|4
}
