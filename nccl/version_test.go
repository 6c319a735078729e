package nccl

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
		n, ok := versionNumber(version)
		assert.True(t, ok, version)
		assert.Equal(t, want, n, version)
	}
	for _, version := range []string{"", "2", "2.", "git-1f0a976", "two.one", "99999999999.1"} {
		_, ok := versionNumber(version)
		assert.False(t, ok, version)
	}
	assert.True(t, tooOld("2.5.7+cuda10.2"))
	assert.False(t, tooOld("2.6.4"))
	assert.False(t, tooOld(""), "a version that nobody tells is not old")
}

func TestUnprefixedVersion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"NCCL version 2.29.7+cuda13.0\n":              1,
		"[1,0]<stdout>:NCCL version 2.4.8+cuda10.1\n": 1,
		"torch.distributed.DistBackendError: unhandled error (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9\n": 0,
		"NCCL version \n": 0,
	} {
		b := &block{}
		b.reset([]byte(line), nil)
		newScanner(newGrammar()).scan(b)
		assert.Len(t, b.events, want, line)
	}
}
