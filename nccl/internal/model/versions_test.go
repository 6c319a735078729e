package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTooOld(t *testing.T) {
	t.Parallel()
	assert.True(t, tooOld("2.5.7+cuda10.2"))
	assert.False(t, tooOld("2.6.4"))
	assert.False(t, tooOld(""), "an unknown version is not old")
}
