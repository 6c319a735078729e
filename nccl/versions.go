package nccl

import "strings"

// versions blocks the proof where NCCL is too old to print what it rests on.
func (j *runJudge) versions() {
	for _, o := range j.ev.outdated {
		j.block(VersionTooOld, -1, o.at, o.detail)
	}
}

// outdated is one place where an NCCL that is too old says its version.
type outdated struct {
	at     ref
	detail string
}

// findOutdated lists them once for all runs: a body of evidence may hold as many
// runs as processes, and their product is not to be walked.
func findOutdated(files []*logFile) []outdated {
	var old []outdated
	for _, f := range files {
		if v := unprefixedVersion(f.version.text); tooOld(v) {
			old = append(old, outdated{f.version, ""})
		}
		for _, p := range f.procs {
			if tooOld(p.version) {
				old = append(old, outdated{p.first, "NCCL " + p.version})
			}
		}
	}
	return old
}

// tooOld reports whether a version is below 2.6.4, which prints no network.
func tooOld(version string) bool {
	n, ok := versionNumber(version)
	return ok && n < 2<<16|6<<8|4
}

// versionNumber reads "2.29.7+cuda13.0" as a number that can be compared.
func versionNumber(version string) (n int, ok bool) {
	c := cursor{b: []byte(version)}
	major, ok := c.number()
	if !ok || !c.lit(".") {
		return 0, false
	}
	minor, ok := c.number()
	if !ok {
		return 0, false
	}
	patch := int32(0)
	if c.lit(".") {
		patch, _ = c.number()
	}
	return int(major)<<16 | int(min(minor, 255))<<8 | int(min(patch, 255)), true
}

// unprefixedVersion cuts the version out of NCCL's own version line.
func unprefixedVersion(text string) string {
	return strings.TrimPrefix(text, "NCCL version ")
}
