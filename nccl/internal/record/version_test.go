package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionNumber(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"2.29.7+cuda13.0": 2<<16 | 29<<8 | 7, "2.6.4": 2<<16 | 6<<8 | 4, "2.8": 2<<16 | 8<<8, "2.8.x": 2<<16 | 8<<8,
		"2.999.7": 2<<16 | 255<<8 | 7,
	} {
		n, ok := VersionNumber(version)
		assert.True(t, ok, version)
		assert.Equal(t, want, n, version)
	}
	for _, version := range []string{"", "2", "2.", "git-1f0a976", "two.one", "99999999999.1"} {
		_, ok := VersionNumber(version)
		assert.False(t, ok, version)
	}
}
