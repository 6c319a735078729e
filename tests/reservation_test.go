package tests

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reservation = "aws:ec2/capacityReservation:CapacityReservation"

func TestAReservationOfTheStackIsMadeBeforeTheCluster(t *testing.T) {
	t.Parallel()
	assert.Empty(t, green(t, options{}).ofType(reservation))
	assert.False(t, green(t, options{}).one(t, launchTemplate, "gpu").has("capacityReservationSpecification"))
	r := green(t, options{config: map[string]string{"gpu.capacity": "reserve", "gpu.nodes": "2"}})
	made := r.one(t, reservation, "gpu")
	for key, want := range map[string]any{
		"instanceType": "g6.12xlarge", "availabilityZone": "us-east-2b", "instanceMatchCriteria": "targeted",
		"endDateType": "unlimited", "instancePlatform": "Linux/UNIX", "placementGroupArn": "arn:gpu",
	} {
		assert.Equal(t, want, made.get(t, key), key)
	}
	assert.InDelta(t, 2, at(t, made.inputs, "instanceCount").NumberValue(), 0)
	assert.Equal(t, "gpu-id", r.one(t, launchTemplate, "gpu").get(t,
		"capacityReservationSpecification|capacityReservationTarget|capacityReservationId"))
	assert.True(t, outlives(r, r.one(t, eksComponent, "eks"))[made.urn], "before money is spent on anything else")
	apart := green(t, options{config: map[string]string{"gpu.capacity": "reserve", "gpu.placement": "none"}})
	assert.False(t, apart.one(t, reservation, "gpu").has("placementGroupArn"))
}

func TestReservationsThatExist(t *testing.T) {
	t.Parallel()
	const id, group = "cr-0123456789abcdef0", "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"
	const target = "capacityReservationSpecification|capacityReservationTarget|"
	run := func(capacity, reservation string) run {
		return green(t, options{config: map[string]string{
			"gpu.capacity": capacity, "gpu.reservation": reservation, "gpu.placement": "none", "availabilityZone": "us-east-2b",
		}})
	}
	one, many, block := run("existing", id), run("existing", group), run("block", id)
	for _, r := range []interface{ ofType(string) []registration }{one, many, block} {
		require.Empty(t, r.ofType(reservation))
	}
	assert.Equal(t, id, one.one(t, launchTemplate, "gpu").get(t, target+"capacityReservationId"))
	assert.Equal(t, group, many.one(t, launchTemplate, "gpu").get(t, target+"capacityReservationResourceGroupArn"))
	assert.False(t, one.one(t, launchTemplate, "gpu").has("instanceMarketOptions"))
	assert.Equal(t, "ON_DEMAND", one.one(t, nodeGroup, "gpu").get(t, "capacityType"))
	template := block.one(t, launchTemplate, "gpu")
	assert.Equal(t, "capacity-block", template.get(t, "instanceMarketOptions|marketType"))
	assert.Equal(t, "g6.12xlarge", template.get(t, "instanceType"))
	assert.Equal(t, "CAPACITY_BLOCK", block.one(t, nodeGroup, "gpu").get(t, "capacityType"))
	assert.False(t, block.one(t, nodeGroup, "gpu").has("instanceTypes"), "EKS refuses the type in both")
}

func TestNodeRepairOfTheSettings(t *testing.T) {
	t.Parallel()
	assert.False(t, green(t, options{}).one(t, nodeGroup, "gpu").has("nodeRepairConfig"))
	r := green(t, options{config: map[string]string{"gpu.autoRepair": "true"}})
	assert.Equal(t, true, r.one(t, nodeGroup, "gpu").get(t, "nodeRepairConfig|enabled"))
	assert.False(t, r.one(t, nodeGroup, "system").has("nodeRepairConfig"))
}
