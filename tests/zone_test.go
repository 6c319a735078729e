package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/infra"
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

func TestAnotherZoneIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config map[string]string
		says   []string
	}{
		{"asked for", map[string]string{"availabilityZone": "us-east-2b"}, []string{
			`availabilityZone "us-east-2b" (`, "its subnets are in us-east-2c", "pulumi destroy, then pulumi up",
			"pulumi config set availabilityZone us-east-2c",
		}},
		{"all that offers the new type", map[string]string{"gpu.instanceType": "p4d.24xlarge", "maxHourlyUsd": "100"}, []string{
			"gpu.instanceType and system.instanceType (", "its subnets are in us-east-2c", "[us-east-2b] only", "pulumi destroy, then pulumi up",
		}},
	}
	for _, test := range tests {
		for name, preview := range map[string]bool{"preview": true, "up": false} {
			t.Run(test.name+" in "+name, func(t *testing.T) {
				t.Parallel()
				r := runProgram(t, options{preview: preview, config: test.config, existing: existingIn("us-east-2c", "us-east-2b")})
				codes, printed := r.refused(t)
				assert.Equal(t, []string{infra.CodeZone}, codes, "it is reported once")
				for _, text := range test.says {
					assert.Contains(t, printed, text)
				}
				assert.Equal(t, 1, strings.Count(printed, "("+infra.CodeZone+")"), "it is printed once")
				assert.Empty(t, r.ofType(eksComponent), "nothing behind the network is asked for")
				assert.Empty(t, r.ofType(nodeGroup))
			})
		}
	}
}
