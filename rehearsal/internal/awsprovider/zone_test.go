package awsprovider_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/infra"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// places is the program's own network, whose zones can be changed from outside.
type places struct{ args infra.NetworkArgs }

// placed is a network with nodes in one zone.
func placed(zone region.Zone, others ...region.Zone) *places {
	return &places{infra.NetworkArgs{
		Region: "us-east-2", ClusterName: "train", VPCCIDR: netip.MustParsePrefix("10.42.0.0/16"),
		Zone: zone, OtherZones: others, ControlPlaneZone: "us-east-2c",
		AllZones: []region.Zone{"us-east-2a", "us-east-2b", "us-east-2c"},
	}}
}

func (p *places) make(ctx *pulumi.Context) (*infra.Network, *aws.Provider, error) {
	provider, err := aws.NewProvider(ctx, "aws",
		&aws.ProviderArgs{Region: pulumi.String("us-east-2")})
	if err != nil {
		return nil, nil, err
	}
	args := p.args
	network, err := infra.NewNetwork(ctx, "network", &args, pulumi.Providers(provider))
	if err != nil {
		return nil, nil, err
	}
	ctx.Export("zone", network.Zone)
	ctx.Export("nodeSubnet", network.NodeSubnetID)
	return network, provider, nil
}

func (p *places) run(ctx *pulumi.Context) error {
	_, _, err := p.make(ctx)
	return err
}

// empties destroys the stack and looks at what is left.
func (b *bench) empties(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := b.stack.Destroy(ctx, optdestroy.ProgressStreams(b.log))
	require.NoError(t, err, b.log.String())
	assert.Empty(t, b.account.Inventory().Remains())
}

// The planned zone is computed in each run. Nodes without a zone in the settings stay in the zone in
// which the stack was created, and a zone in the settings changes no part of the network.
func TestEngineKeepsTheNetworkInItsZone(t *testing.T) {
	ctx := context.Background()
	program := placed("us-east-2b", "us-east-2a")
	b := newBench(t, program.run)
	first, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	require.Equal(t, "us-east-2b", first.Outputs["zone"].Value)
	subnet := first.Outputs["nodeSubnet"].Value

	// AWS now offers the types in an earlier zone too, and the control plane would go to where the
	// nodes are.
	program.args.Zone, program.args.OtherZones, program.args.ControlPlaneZone = "us-east-2a", []region.Zone{
		"us-east-2b",
	}, "us-east-2b"
	again, err := b.up(ctx, optup.ExpectNoChanges())
	require.NoError(t, err, b.log.String())
	assert.Equal(t, "us-east-2b", again.Outputs["zone"].Value)

	// A change of something else keeps the zone, too.
	program.args.ClusterName = "other"
	renamed, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Equal(t, "us-east-2b", renamed.Outputs["zone"].Value)
	assert.NotContains(t, b.log.String(), "replaced")

	for _, test := range []struct {
		name, zone string
		change     func()
	}{
		{"a zone in the settings", "us-east-2a", func() { program.args.AvailabilityZone = "us-east-2a" }},
		{"none any more", "us-east-2b", func() { program.args.AvailabilityZone = "" }},
		{"the old zone offers the types no longer", "us-east-2a", func() { program.args.OtherZones = nil }},
	} {
		test.change()
		moved, err := b.up(ctx)
		require.NoError(t, err, b.log.String())
		assert.Equal(t, test.zone, moved.Outputs["zone"].Value, test.name)
		assert.Equal(t, test.zone == "us-east-2b", moved.Outputs["nodeSubnet"].Value == subnet, test.name)
		changes := *moved.Summary.ResourceChanges
		assert.Zero(t, changes["create"]+changes["replace"]+changes["delete"], test.name)
	}
	b.empties(ctx, t)
}
