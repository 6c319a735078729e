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
	require.Len(t, Rows(), len(Table()))
	for _, row := range Rows() {
		fields := strings.Split(row, "\t")
		require.Len(t, fields, 6, row)
		for _, field := range fields {
			assert.NotEmpty(t, field, row)
		}
	}
}

func TestAtLeastFortyFaultsWithDifferentNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, fault := range Table() {
		assert.False(t, names[fault.Name], "%q is in the table twice", fault.Name)
		names[fault.Name] = true
	}
	assert.GreaterOrEqual(t, len(names), 40)
}

func TestOnlyFaultsThatPassExitZero(t *testing.T) {
	t.Parallel()
	for _, fault := range Table() {
		assert.Equal(t, fault.Phase == PhaseNone, fault.Exit() == 0, fault.Name)
		if fault.Phase == PhaseNone {
			assert.Equal(t, verdictEFA, fault.Verdict, fault.Name)
		}
	}
}

// A row without an injected change would show the healthy stack.
func TestEachFaultInjectsSomething(t *testing.T) {
	t.Parallel()
	for _, row := range Table() {
		fault, err := Find(row.Name)
		require.NoError(t, err)
		assert.True(t, fault.Image != images.Complete || !fault.Shared() || fault.Defect != "" ||
			fault.Plan.Effect != "" || fault.Action != NoAction, fault.Name)
		assert.Contains(t, images.Variants(), fault.Image, fault.Name)
		held := fault.Action != NoAction && fault.Action != SwapImage
		assert.Equal(
			t,
			held,
			fault.Plan.Hold != "",
			"%s: a phase is held for an action only",
			fault.Name,
		)
	}
}

func TestMatchTakesSeveralPatterns(t *testing.T) {
	t.Parallel()
	found, err := Match("log-rotated,one-*-on-tcp,two-ups")
	require.NoError(t, err)
	var names []string
	for _, fault := range found {
		names = append(names, fault.Name)
	}
	assert.Equal(t, []string{"one-channel-on-tcp", "log-rotated", "two-ups", "one-rank-on-tcp",
		"one-node-on-tcp"}, names, "in the order of the table")
	all, err := Match("*")
	require.NoError(t, err)
	assert.Len(t, all, len(Table()))
	_, err = Match("nope-*")
	require.ErrorContains(t, err, "no fault matches")
	_, err = Match("[")
	require.ErrorContains(t, err, "shell patterns")
}

func TestInfrastructureFaultsAreNotShared(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"quota", "efa-device-missing", "no-self-egress"} {
		fault, err := Find(name)
		require.NoError(t, err)
		assert.False(t, fault.Shared(), name)
	}
	for _, name := range []string{"tcp-fallback", "two-ups", "image-changed"} {
		fault, err := Find(name)
		require.NoError(t, err)
		assert.True(t, fault.Shared(), name)
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
