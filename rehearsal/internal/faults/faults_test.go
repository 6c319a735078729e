package faults

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

func TestRowsHaveSixFields(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, Rows())
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
		broken := fault.Image != images.Complete || len(fault.Charts) > 0 ||
			!assert.ObjectsAreEqual(api.Faults{}, fault.Account)
		assert.True(t, broken, fault.Name)
		assert.Contains(t, images.Variants(), fault.Image, fault.Name)
		assert.Equal(t, exitRefused, fault.Exit())
	}
}

func TestAFaultsChartsReplaceTheRealOnes(t *testing.T) {
	t.Parallel()
	stale, err := Find("efa-device-missing")
	require.NoError(t, err)
	assert.Equal(t, charts.StaleEFARepository, stale.ChartRepository(charts.EFADevicePlugin))
	assert.Equal(t, charts.KubeRayOperator.Repository(),
		stale.ChartRepository(charts.KubeRayOperator))
}

func TestFindNamesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	healthy, err := Find("")
	require.NoError(t, err)
	assert.Equal(t, "efa", healthy.Verdict)
	assert.Zero(t, healthy.Exit())
	assert.Equal(t, api.Faults{}, healthy.Account)

	_, err = Find("tcp")
	require.ErrorContains(t, err, `"tcp"`)
	require.ErrorContains(t, err, "tcp-fallback")
	require.ErrorContains(t, err, "--list-faults")
}
