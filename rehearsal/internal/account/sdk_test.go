package account

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/owned"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
)

// TestTheSDKFindsWhatCarriesTheTags asks the account through AWS's own SDK.
func TestTheSDKFindsWhatCarriesTheTags(t *testing.T) {
	l := newLab(t)
	server := httptest.NewServer(l.account.Handler())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "rehearsal")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "rehearsal")
	tags := owned.StackTags("ray-train-efa", "dev")
	create := func(step, token string, inputs props) string {
		require.NoError(t, l.create(step, token, inputs))
		return l.ids[step]
	}
	vpc := create("vpc", ec2.Vpcs.String(), props{"cidrBlock": "10.0.0.0/16", "tagsAll": tags})
	create("other", ec2.Vpcs.String(),
		props{"cidrBlock": "10.1.0.0/16", "tagsAll": props{"project": "ray-train-efa"}})
	create("key", kms.Keys.String(), props{"tagsAll": tags})

	found, err := owned.Left(t.Context(), "us-east-2", tags)
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, "ec2/vpc", found[0].Kind())
	assert.Equal(t, vpc, found[0].ID())
	assert.Equal(t, "kms/key", found[1].Kind())
	assert.Equal(t, tags, found[1].Tags)

	require.NoError(t, l.delete("key", kms.Keys.String()))
	require.NoError(t, l.delete("vpc", ec2.Vpcs.String()))
	pending, err := owned.Find(t.Context(), "us-east-2", tags)
	require.NoError(t, err)
	assert.Len(t, pending, 1, "the API lists a key that is pending deletion")
	left, err := owned.Left(t.Context(), "us-east-2", tags)
	require.NoError(t, err)
	assert.Empty(t, left)
}
