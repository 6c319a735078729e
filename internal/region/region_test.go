package region_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, partition := range map[string]string{
		"us-east-2": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov",
	} {
		parsed, err := region.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, partition, parsed.Partition())
		assert.Equal(t, partition == "aws-cn", parsed.Domain() == "amazonaws.com.cn", text)
	}
	for _, text := range []string{"", "us-east", "us-east-2a", "US-EAST-2", "us-east-2 "} {
		_, err := region.Parse(text)
		require.Error(t, err, text)
	}
}

func TestRegistryAccount(t *testing.T) {
	t.Parallel()
	for name, account := range map[region.Region]string{
		"us-east-2": "602401143452", "us-gov-west-1": "013241004608", "cn-north-1": "918309763551",
	} {
		assert.Equal(t, account, name.RegistryAccount(), name)
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	for text, in := range map[string]bool{
		"": false, "us-east-2a": true, "us-east-1a": false, "us-west-2a": false,
	} {
		zone, err := region.ParseZone(text)
		require.NoError(t, err)
		assert.Equal(t, in, zone.In("us-east-2"), text)
	}
	for _, text := range []string{"b", "us-east-2", "us-east-2A", "us-east-2-atl-2a"} {
		_, err := region.ParseZone(text)
		require.Error(t, err, text)
	}
	assert.False(t, region.Zone("us-east-2-atl-2a").In("us-east-2"), "a Local Zone")
	assert.False(t, region.Zone("us-east-2").In("us-east-2"))
}
