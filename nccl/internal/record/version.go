package record

import "strings"

// VersionNumber reads "2.29.7+cuda13.0" as a number that can be compared.
func VersionNumber(version string) (n int, ok bool) {
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

// UnprefixedVersion cuts the version out of NCCL's own version line.
func UnprefixedVersion(text string) string {
	return strings.TrimPrefix(text, "NCCL version ")
}
