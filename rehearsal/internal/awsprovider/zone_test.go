package awsprovider_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
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
		Refuse: func(err error) error { return err },
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

// The zone is computed in each run. An existing subnet keeps its zone, and a zone that was asked
// for is refused before anything is changed: another subnet with the same block beside it would be.
func TestEngineKeepsTheZoneOfAStandingNetwork(t *testing.T) {
	ctx := context.Background()
	program := placed("us-east-2b", "us-east-2a")
	b := newBench(t, program.run)
	first, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	require.Equal(t, "us-east-2b", first.Outputs["zone"].Value)

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

	before := b.resources(t)
	program.args.OtherZones, program.args.AvailabilityZone = nil, "us-east-2a"
	for name, run := range map[string]func() error{
		"preview": func() error {
			_, err := b.stack.Preview(ctx, optpreview.ProgressStreams(b.log), optpreview.ErrorProgressStreams(b.log))
			return err
		},
		"up": func() error { _, err := b.up(ctx); return err },
	} {
		b.log.Reset()
		require.Error(t, run(), name)
		assert.Contains(t, b.log.String(), `refused: availabilityZone "us-east-2a"`, name)
		assert.Contains(t, b.log.String(), "pulumi destroy, then pulumi up", name)
	}
	assert.Equal(t, len(before), len(b.resources(t)))

	b.empties(ctx, t)
	moved, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Equal(t, "us-east-2a", moved.Outputs["zone"].Value,
		"after a destroy the zone is free again")
}
