package infra

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		vpc  string
		want [3]string
	}{
		{"10.42.0.0/16", [3]string{"10.42.0.0/17", "10.42.128.0/20", "10.42.144.0/20"}},
		{"172.16.16.0/20", [3]string{"172.16.16.0/21", "172.16.24.0/24", "172.16.25.0/24"}},
	}
	for _, test := range tests {
		t.Run(test.vpc, func(t *testing.T) {
			t.Parallel()
			vpc := netip.MustParsePrefix(test.vpc)
			have, err := Plan(vpc)
			require.NoError(t, err)
			parts := []netip.Prefix{have.Nodes, have.Public, have.ControlPlane}
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
}
