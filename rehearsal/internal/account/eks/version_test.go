package eks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReleaseExists(t *testing.T) {
	v, ok := findVersion(DefaultVersion())
	require.True(t, ok)
	for _, test := range []struct {
		name, in string
		want     bool
	}{
		{"the newest", v.latestRelease(), true},
		{"an older patch", v.Minor + ".2-20260714", true},
		{"a patch that is not there yet", v.Minor + ".9-20260714", false},
		{"another minor", "1.35.2-20260714", false},
		{"before the version", v.Minor + ".2-20260101", false},
		{"after the newest", v.Minor + ".2-20270101", false},
		{"no day of the calendar", v.Minor + ".2-20260931", false},
		{"no release at all", "latest", false},
	} {
		t.Run(test.name,
			func(t *testing.T) { assert.Equal(t, test.want, v.releaseExists(test.in)) })
	}
}
