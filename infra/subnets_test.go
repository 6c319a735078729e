package infra

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		vpc  string
		want [5]string
	}{
		{"10.42.0.0/16", [5]string{"10.42.0.0/17", "10.42.128.0/20", "10.42.144.0/20", "10.42.160.0/20", "10.42.240.0/20"}},
		{"172.16.16.0/20", [5]string{"172.16.16.0/21", "172.16.24.0/24", "172.16.25.0/24", "172.16.26.0/24", "172.16.31.0/24"}},
	}
	for _, test := range tests {
		t.Run(test.vpc, func(t *testing.T) {
			t.Parallel()
			vpc := netip.MustParsePrefix(test.vpc)
			have, err := Plan(vpc)
			require.NoError(t, err)
			first, ok := have.Zone("us-east-2a")
			require.True(t, ok)
			last, ok := have.Zone("us-east-1f")
			require.True(t, ok)
			parts := []netip.Prefix{have.Nodes, have.Public, have.ControlPlane, first, last}
			for i, part := range parts {
				assert.Equal(t, test.want[i], part.String())
				assert.True(t, vpc.Contains(part.Addr()))
				for _, other := range parts[:i] {
					assert.False(t, part.Overlaps(other), "%s and %s", part, other)
				}
			}
		})
	}
	_, err := Plan(netip.MustParsePrefix("10.0.0.0/21"))
	require.ErrorContains(t, err, "/20 or larger")
	for _, zone := range []region.Zone{"", "us-east-1g", "us-east-1"} {
		_, ok := Layout{}.Zone(zone)
		assert.False(t, ok, zone)
	}
}
