package transport

import "strings"

// versions blocks the proof where NCCL is too old to print what it rests on.
func (j *runJudge) versions() {
	for _, f := range j.ev.files {
		if v := unprefixedVersion(f.version.text); tooOld(v) {
			j.block(VersionTooOld, -1, f.version, "")
		}
		for _, p := range f.procs {
			if tooOld(p.version) {
				j.block(VersionTooOld, -1, p.first, "NCCL "+p.version)
			}
		}
	}
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
