package faults

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRowsHaveSixFields(t *testing.T) {
	t.Parallel()
	require.Len(t, Rows(), 10)
	for _, row := range Rows() {
		fields := strings.Split(row, "\t")
		require.Len(t, fields, 6, row)
		for _, field := range fields {
			assert.NotEmpty(t, field, row)
		}
		assert.Equal(t, "2", fields[4], "every fault refuses the update: %s", row)
		assert.NotEqual(t, "efa", fields[3], "no fault may pass: %s", row)
	}
}

func TestEachFaultBreaksSomething(t *testing.T) {
	t.Parallel()
	for _, row := range Table() {
		fault, err := Find(row.Name)
		require.NoError(t, err)
		broken := fault.Image != ImageWhole || fault.NoCapacity || fault.NoQuota || fault.NoEFAPlugin ||
			fault.BrokenEFA || fault.NoSelfEgress
		assert.True(t, broken, fault.Name)
		assert.Equal(t, ExitRefused, fault.Exit)
		assert.NotEmpty(t, fault.Script)
	}
}

func TestFindNamesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	healthy, err := Find("")
	require.NoError(t, err)
	assert.Equal(t, "efa", healthy.Verdict)
	assert.Zero(t, healthy.Exit)

	_, err = Find("tcp")
	require.ErrorContains(t, err, `"tcp"`)
	require.ErrorContains(t, err, "tcp-fallback")
	require.ErrorContains(t, err, "--list-faults")
}
