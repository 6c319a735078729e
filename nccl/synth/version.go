package synth

import "fmt"

// Version is a release of NCCL or of aws-ofi-nccl.
type Version struct {
	Major, Minor, Patch int
	// Suffix is what a distributor put behind the number, such as "-aws".
	Suffix string
}

// String prints the version as its own log lines do.
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d%s", v.Major, v.Minor, v.Patch, v.Suffix)
}

// AtLeast reports whether v is release minor.patch, or a later one, of the same
// major version.
func (v Version) AtLeast(minor, patch int) bool {
	return v.Minor > minor || (v.Minor == minor && v.Patch >= patch)
}

// NCCLVersions lists one NCCL release or more for each line form that the
// grammar distinguishes, oldest first.
func NCCLVersions() []Version {
	return versions(2,
		[2]int{4, 8}, [2]int{5, 7}, [2]int{6, 4}, [2]int{7, 8}, [2]int{8, 3}, [2]int{9, 9}, [2]int{10, 3},
		[2]int{12, 12}, [2]int{14, 3}, [2]int{15, 1}, [2]int{16, 5}, [2]int{17, 1}, [2]int{18, 1},
		[2]int{18, 3}, [2]int{18, 6}, [2]int{19, 1}, [2]int{19, 4}, [2]int{20, 3}, [2]int{20, 5},
		[2]int{21, 5}, [2]int{22, 3}, [2]int{23, 4}, [2]int{24, 3}, [2]int{25, 1}, [2]int{26, 2},
		[2]int{26, 6}, [2]int{27, 3}, [2]int{27, 7}, [2]int{28, 3}, [2]int{28, 9}, [2]int{29, 2},
		[2]int{29, 7}, [2]int{30, 7}, [2]int{31, 0})
}

// PluginVersions lists one aws-ofi-nccl release or more for each line form,
// oldest first.
func PluginVersions() []Version {
	list := versions(1,
		[2]int{4, 0}, [2]int{6, 0}, [2]int{7, 0}, [2]int{7, 1}, [2]int{8, 0}, [2]int{8, 1},
		[2]int{9, 1}, [2]int{11, 0}, [2]int{12, 1}, [2]int{13, 0}, [2]int{14, 0}, [2]int{14, 1},
		[2]int{15, 0}, [2]int{16, 2}, [2]int{18, 0}, [2]int{19, 0}, [2]int{20, 0}, [2]int{21, 1})
	return append(list,
		Version{Major: 1, Minor: 5, Patch: 0, Suffix: "aws"},
		Version{Major: 1, Minor: 13, Patch: 2, Suffix: "-aws"})
}

func versions(major int, list ...[2]int) []Version {
	out := make([]Version, len(list))
	for i, v := range list {
		out[i] = Version{Major: major, Minor: v[0], Patch: v[1]}
	}
	return out
}
