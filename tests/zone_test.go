package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// existingIn returns a stack with the subnets of an earlier update in the given zones.
func existingIn(nodes, control string) map[string]string {
	return map[string]string{"nodes": nodes, "public": nodes, "control-plane": control}
}

// A new run would take us-east-2b. Resources in another zone stay there, and
// all messages name that zone.
func TestAnExistingStackStaysInItsZone(t *testing.T) {
	t.Parallel()
	for name, preview := range map[string]bool{"preview": true, "up": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := green(t, options{preview: preview, existing: existingIn("us-east-2c", "us-east-2b")})
			for _, made := range r.ofType(subnet) {
				assert.Equal(t, []string{"availabilityZone"}, made.ignoreChanges, made.name)
			}
			assert.Equal(t, "us-east-2c", r.one(t, subnet, "public").get(t, "availabilityZone"), "the NAT gateway goes where the nodes are")
			assert.Equal(t, "us-east-2c", r.export(t, "availabilityZone"))
		})
	}
}

func TestAFailureNamesTheZoneOfTheStandingStack(t *testing.T) {
	t.Parallel()
	r := runProgram(t, options{
		existing: existingIn("us-east-2c", "us-east-2b"),
		breaks:   map[resourceName]string{{nodeGroup, "gpu"}: "InsufficientInstanceCapacity - no g6.12xlarge"},
	})
	require.Error(t, r.err)
	said := strings.Join(r.log, "\n")
	assert.Contains(t, said, "no capacity for 2 x g6.12xlarge in us-east-2c")
	assert.Contains(t, said, "pulumi config set availabilityZone us-east-2b")
}

// The nodes' subnet was made, and the run ended there: its zone is now the one that is planned for
// the control plane.
func TestTheControlPlaneHasTwoZonesAfterAnInterruptedUpdate(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) { c.zones["g6.12xlarge"] = []string{"us-east-2a", "us-east-2b"} })
	fresh := green(t, options{cloud: &region})
	assert.Equal(t, "us-east-2b", fresh.one(t, subnet, "control-plane").get(t, "availabilityZone"))
	resumed := green(t, options{cloud: &region, existing: map[string]string{"nodes": "us-east-2b"}})
	assert.Equal(t, "us-east-2a", resumed.one(t, subnet, "control-plane").get(t, "availabilityZone"))
}

// Everything but the node groups stays where it is.
func TestAnotherZoneMovesTheNodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, zone, subnet string
		config             map[string]string
	}{
		{"of the settings", "us-east-2b", "nodes-us-east-2b-id", map[string]string{"availabilityZone": "us-east-2b"}},
		{"that the settings name already", "us-east-2c", "nodes-id", map[string]string{"availabilityZone": "us-east-2c"}},
		{"that offers the new type", "us-east-2b", "nodes-us-east-2b-id",
			map[string]string{"gpu.instanceType": "p4d.24xlarge", "maxHourlyUsd": "100"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := green(t, options{config: test.config, existing: existingIn("us-east-2c", "us-east-2b")})
			assert.Equal(t, test.zone, r.export(t, "availabilityZone"))
			for _, name := range []string{"gpu", "system"} {
				assert.Equal(t, []any{test.subnet}, r.one(t, nodeGroup, name).get(t, "subnetIds"), name)
			}
			assert.ElementsMatch(t, []any{"nodes-id", "control-plane-id"}, r.one(t, eksComponent, "eks").get(t, "subnetIds"))
			assert.Equal(t, "us-east-2c", r.one(t, subnet, "public").get(t, "availabilityZone"))
		})
	}
}

func TestEveryZoneHasASubnetForNodes(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.zoneIDs["us-east-2-chi-2a"] = "use2-chi2-az1"
		c.zoneIDs["us-east-2d"] = "use1-az3" // has no control planes
	})
	r := green(t, options{cloud: &region})
	var names []string
	for _, made := range r.ofType(subnet) {
		names = append(names, made.name)
		association := r.one(t, "aws:ec2/routeTableAssociation:RouteTableAssociation", made.name)
		assert.Equal(t, made.name+"-id", association.get(t, "subnetId"))
	}
	assert.ElementsMatch(t, []string{
		"nodes", "public", "control-plane", "nodes-us-east-2a", "nodes-us-east-2b", "nodes-us-east-2c",
	}, names)
	assert.Len(t, r.ofType("aws:ec2/natGateway:NatGateway"), 1, "no NAT gateway in each zone")
}
