package cost

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
)

const exported = `{"version": 3, "deployment": {"resources": [
	{"urn": "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev", "type": "pulumi:pulumi:Stack",
	 "outputs": {"region": "us-east-2", "hourlyUsd": 9.5548}},
	{"urn": "urn:pulumi:dev::p::aws:eks/cluster:Cluster::eks", "type": "aws:eks/cluster:Cluster",
	 "created": "2026-12-01T10:00:00Z", "inputs": {"version": "1.36"}},
	{"urn": "urn:pulumi:dev::p::aws:eks/nodeGroup:NodeGroup::gpu", "type": "aws:eks/nodeGroup:NodeGroup",
	 "inputs": {"instanceTypes": ["g6.12xlarge"], "scalingConfig": {"desiredSize": 2}}},
	{"urn": "urn:pulumi:dev::p::aws:eks/nodeGroup:NodeGroup::system", "type": "aws:eks/nodeGroup:NodeGroup",
	 "inputs": {"instanceTypes": ["m7i.xlarge"], "scalingConfig": {"desiredSize": 1}}},
	{"urn": "urn:pulumi:dev::p::aws:ec2/launchTemplate:LaunchTemplate::gpu", "type": "aws:ec2/launchTemplate:LaunchTemplate",
	 "inputs": {"blockDeviceMappings": [{"ebs": {"volumeSize": 200}}]}},
	{"urn": "urn:pulumi:dev::p::kubernetes:core/v1:Pod::a", "type": "kubernetes:core/v1:Pod", "inputs": {"version": 1}}
]}}`

func TestAStackIsPricedByItsState(t *testing.T) {
	t.Parallel()
	stack, err := FromState([]byte(exported))
	require.NoError(t, err)
	assert.Equal(t, capacity.Group{Type: "g6.12xlarge", Nodes: 2, VolumeGiB: 200}, stack.Request.GPU)
	assert.Equal(t, capacity.Group{Type: "m7i.xlarge", Nodes: 1}, stack.Request.System)
	created := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	report := stack.Report(3, created.Add(2*time.Hour))
	assert.InDelta(t, report.HourlyUSD*3, report.USD, 1e-9)
	assert.InDelta(t, 2*9.5548, *report.SpentUSD, 1e-9)
	assert.Equal(t, 9.2032, float64(report.Lines[0].Count)**report.Lines[0].UnitUSD)
	text := report.Text()
	assert.Contains(t, text, "9.2032  2 x g6.12xlarge")
	assert.Contains(t, text, "so far at most 19.11 USD, since 2026-12-01 10:00:00")
}

func TestTheSpentPriceIsThatOfTheUpdate(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	usd := 5.0
	stack := Stack{HourlyUSD: &usd, Since: created, Request: capacity.Request{Region: "us-east-2"}}
	report := stack.Report(1, created.Add(time.Hour))
	assert.InDelta(t, 5, *report.SpentUSD, 1e-9)
	assert.Contains(t, report.Text(), "the last update printed 5.0000 USD per hour")

	stack = Stack{Request: capacity.Request{Region: "us-east-2"}}
	assert.Nil(t, stack.Report(1, created).SpentUSD, "without a control plane it is unknown")
	assert.NotContains(t, stack.Report(1, created).Text(), "so far")
}

func TestAnUnknownPriceIsNotZero(t *testing.T) {
	t.Parallel()
	report := Of(capacity.Request{
		Region: "us-east-2", KubernetesVersion: "1.36",
		GPU: capacity.Group{Type: "x9.12xlarge", Nodes: 2}, System: capacity.Group{Type: "m7i.xlarge", Nodes: 1},
	}, 1)
	assert.Equal(t, []string{"x9.12xlarge"}, report.Unknown)
	assert.Nil(t, report.Lines[0].UnitUSD)
	assert.Contains(t, report.Text(), "plus the unknown price of x9.12xlarge")
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"unitUsd":null`)
}

func TestFromStateReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	_, err := FromState([]byte(`{"deployment": {"resources": []}}`))
	require.ErrorIs(t, err, ErrNothing)
	_, err = FromState([]byte("pulumi"))
	require.ErrorContains(t, err, "reading the state")
	_, err = FromState([]byte(`{"deployment": {"resources": [
		{"type": "aws:eks/nodeGroup:NodeGroup", "inputs": {"instanceTypes": 1}}]}}`))
	require.ErrorContains(t, err, `reading a resource of type "aws:eks/nodeGroup:NodeGroup"`)
}
