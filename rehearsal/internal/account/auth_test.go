package account

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
)

// review asks the webhook of a cluster who a token is, as an API server does.
func review(t *testing.T, a *Account, cluster, token string) authenticationv1.TokenReviewStatus {
	t.Helper()
	body, err := json.Marshal(
		authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	a.Handler().ServeHTTP(recorder,
		httptest.NewRequest(http.MethodPost, api.PathTokenReview+cluster, bytes.NewReader(body)))
	require.Equal(t, http.StatusOK, recorder.Code, recorder.Body.String())
	var out authenticationv1.TokenReview
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &out))
	assert.Equal(t, "TokenReview", out.Kind)
	return out.Status
}

func TestTokens(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	good, err := eks.IssueToken(l.account.store, "train", "")
	require.NoError(t, err)
	node, ok := l.out["node-role"]["arn"].(string)
	require.True(t, ok)
	cluster, ok := l.out["cluster-role"]["arn"].(string)
	require.True(t, ok)
	asNode, err := eks.IssueToken(l.account.store, "train", node)
	require.NoError(t, err)
	stranger, err := eks.IssueToken(l.account.store, "train", cluster)
	require.NoError(t, err)
	other, err := eks.IssueToken(l.account.store, "other", "")
	require.NoError(t, err)

	for _, test := range []struct {
		name, token string
		user        string
		groups      []string
		refused     string
	}{
		{name: "the creator", token: good.Token, user: "arn:aws:iam::111122223333:user/rehearsal", groups: []string{"system:masters"}},
		{name: "a node", token: asNode.Token, user: "system:node:{{EC2PrivateDNSName}}", groups: []string{"system:nodes"}},
		{name: "a role without an entry", token: stranger.Token, refused: "has no access entry"},
		{name: "a token for another cluster", token: other.Token, refused: `no cluster "other"`},
		{name: "a token that was changed", token: good.Token + "x", refused: "not issued by this " +
			"account"},
		{name: "no token of EKS", token: "abc", refused: "not issued by this account"},
		{name: "nothing", token: "", refused: "not issued by this account"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status := review(t, l.account, "train", test.token)
			assert.Equal(t, test.refused == "", status.Authenticated)
			assert.Equal(t, test.user, status.User.Username)
			assert.Equal(t, test.groups, status.User.Groups)
			assert.Contains(t, status.Error, test.refused)
		})
	}

	assert.Contains(t, review(t, l.account, "second", good.Token).Error,
		`it is for cluster "train"`)
	_, err = eks.IssueToken(l.account.store, "train", "arn:aws:iam::111122223333:role/none")
	assert.Equal(t, "AccessDenied", code(err))
}

func TestTokensExpireAndFollowAccessEntries(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	token, err := eks.IssueToken(l.account.store, "train", "")
	require.NoError(t, err)
	assert.Equal(t, "2026-11-30T04:14:00Z", token.Expiration)

	l.now = l.now.Add(16 * time.Minute)
	_, _, _, err = eks.Authenticate(l.account.store, token.Token)
	require.ErrorIs(t, err, eks.ErrTokenRefused)
	assert.ErrorContains(t, err, "expired")

	fresh, err := eks.IssueToken(l.account.store, "train", "")
	require.NoError(t, err)
	_, _, _, err = eks.Authenticate(l.account.store, fresh.Token)
	require.NoError(t, err)
	l.ids["creator"] = eks.EntryID("train", "arn:aws:iam::111122223333:user/rehearsal")
	require.NoError(t, l.delete("creator", eks.AccessEntries.String()))
	_, _, _, err = eks.Authenticate(l.account.store, fresh.Token)
	require.ErrorIs(t, err, eks.ErrTokenRefused, "who has no entry any more is out at once")
}

// TestClientAndHandler goes over the wire once.
func TestClientAndHandler(t *testing.T) {
	ctx := context.Background()
	a := newLab(t).account
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	c := client.New(server.URL)

	made, err := c.Create(
		ctx,
		api.ResourceRequest{
			Type:   ec2.Vpcs.String(),
			Inputs: json.RawMessage(`{"cidrBlock":"10.0.0.0/16"}`),
		},
	)
	require.NoError(t, err)
	assert.Regexp(t, `^vpc-[0-9a-f]{17}$`, made.ID)
	found, err := c.Read(ctx, api.ResourceRequest{Type: ec2.Vpcs.String(), ID: made.ID})
	require.NoError(t, err)
	assert.JSONEq(t, string(made.Outputs), string(found.Outputs))
	require.NoError(t, c.Delete(ctx, api.ResourceRequest{Type: ec2.Vpcs.String(), ID: made.ID}))
	require.NoError(t, c.Delete(ctx, api.ResourceRequest{Type: ec2.Vpcs.String(), ID: made.ID}),
		"gone already is no error")
	gone, err := c.Read(ctx, api.ResourceRequest{Type: ec2.Vpcs.String(), ID: made.ID})
	require.NoError(t, err)
	assert.Empty(t, gone.ID)

	_, err = c.Create(ctx, api.ResourceRequest{Type: "aws:ec2/vpc:Vpk"})
	require.ErrorContains(t, err, "aws:ec2/vpc:Vpc")
	_, err = c.Create(
		ctx,
		api.ResourceRequest{
			Type:   ec2.Vpcs.String(),
			Inputs: json.RawMessage(`{"cidrBlock":"10.0.0.0/8"}`),
		},
	)
	require.EqualError(t, err,
		"operation error EC2: CreateVpc, https response error StatusCode: 400, api error "+
			"InvalidVpc.Range: The CIDR '10.0.0.0/8' is invalid.")

	answer, err := c.Invoke(ctx, api.InvokeRequest{Token: "aws:index/getPartition:getPartition"})
	require.NoError(t, err)
	assert.Contains(t, string(answer), `"dnsSuffix":"amazonaws.com"`)
	_, err = c.Invoke(ctx, api.InvokeRequest{Token: "aws:ec2/getAmi:getAmi"})
	require.ErrorContains(t, err,
		`function "aws:ec2/getAmi:getAmi" is not part of the emulated AWS account`)
}

func TestSetFaultsRefuses(t *testing.T) {
	a := newLab(t).account
	for _, test := range []struct {
		name string
		in   api.Faults
		want string
	}{
		{"a type that is not there", api.Faults{NoCapacity: []api.TypeInZone{{Type: "g6.huge"}}}, "g6.huge"},
		{"a quota that is not there", api.Faults{Quota: map[string]float64{"L-1": 1}}, "L-DB2E81BA"},
	} {
		t.Run(test.name,
			func(t *testing.T) { assert.ErrorContains(t, a.SetFaults(t.Context(), test.in), test.want) })
	}
}

// TestLoseCluster deletes by hand what Pulumi made; the rest can still be deleted.
func TestLoseCluster(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	lose := func(name string) int {
		recorder := httptest.NewRecorder()
		l.account.Handler().ServeHTTP(
			recorder,
			httptest.NewRequest(http.MethodPost, api.PathLoseCluster+name,
				bytes.NewReader([]byte("{}"))),
		)
		return recorder.Code
	}
	assert.Equal(t, http.StatusNotFound, lose("other"))
	assert.Equal(t, http.StatusOK, lose("train"))
	assert.Empty(t, l.runtime.clusters)
	assert.Empty(t, rows(l.account, ec2.Instances))
	answer, err := l.account.store.Read(eks.Addons.String(), l.ids["coredns"])
	require.NoError(t, err)
	assert.Empty(t, answer.ID, "what was in the cluster reads as gone")
	step, err = l.down()
	require.NoError(t, err, step)
	assert.Empty(t, l.account.Inventory().Remains())
}
