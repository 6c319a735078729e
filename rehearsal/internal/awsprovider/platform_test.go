package awsprovider_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/infra"
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
)

// quotas of vCPU: G and VT on-demand, and standard on-demand.
const (
	quotaG        = "L-DB2E81BA"
	quotaStandard = "L-1216C47A"
)

// platform is everything of the program below its workloads.
func (p *places) platform(ctx *pulumi.Context) error {
	network, provider, err := p.make(ctx)
	if err != nil {
		return err
	}
	inAWS := pulumi.Providers(provider)
	fabric, err := infra.NewEFAGroups(ctx, "efa-groups",
		&infra.EFAGroupsArgs{
			ClusterName: "train", VPCID: network.VPCID, Placement: settings.ClusterPlacement,
		}, inAWS)
	if err != nil {
		return err
	}
	keeping, err := infra.NewSecretsAndLogs(ctx, "secrets-and-logs",
		&infra.SecretsAndLogsArgs{
			Region: "us-east-2", AccountID: "111122223333", ClusterName: "train", LogRetentionDays: 7,
		}, inAWS)
	if err != nil {
		return err
	}
	_, err = cluster.New(ctx, "cluster", &cluster.Args{
		Name: "train", Region: "us-east-2", KubernetesVersion: settings.DefaultKubernetesVersion,
		VPCID: network.VPCID, ControlPlaneSubnetIDs: network.ControlPlaneSubnetIDs,
		NodeSubnetID:       network.NodeSubnetID,
		SecretsKeyARN:      keeping.KeyARN,
		EFASecurityGroupID: fabric.SecurityGroupID, PlacementGroupName: fabric.PlacementGroupName,
		GPU: settings.GPU{NodeGroup: settings.NodeGroup{
			InstanceType: "g6.12xlarge",
			Nodes:        2,
			AMIRelease:   settings.DefaultAMIRelease,
			VolumeGiB:    200,
		}, MetadataHopLimit: 1},
		System: settings.NodeGroup{
			InstanceType: "m7i.xlarge",
			Nodes:        1,
			AMIRelease:   settings.DefaultAMIRelease,
			VolumeGiB:    100,
		},
		GPUType: capacity.InstanceType{
			Name:          "g6.12xlarge",
			GPUs:          4,
			EFAInterfaces: 1,
			NetworkCards:  1,
		}, AWS: provider,
	}, inAWS, pulumi.DependsOn(slices.Concat(network.Made, fabric.Made, keeping.Made)))
	return err
}

// group is a node group as the engine's state has it.
type group struct{ name, status string }

// groups are the node groups in the state, by their names in the program.
func (b *bench) groups(t *testing.T) map[string]group {
	t.Helper()
	found := map[string]group{}
	for _, made := range b.resources(t) {
		if made.Type.String() == eks.NodeGroups.String() && !made.Delete {
			found[made.URN.Name()] = group{
				made.Outputs["nodeGroupName"].(string),
				made.Outputs["status"].(string),
			}
		}
	}
	return found
}

// instances counts the machines of a node group that EKS knows by that name.
func (b *bench) instances(name string) int {
	count := 0
	for _, item := range b.account.Inventory().Items {
		if item.Type == "ec2 instance" && strings.HasSuffix(item.Note, "of node group "+name) {
			count++
		}
	}
	return count
}

// A node group that failed to be made comes up with the next update, once AWS has what it lacked.
func TestEngineReplacesAFailedNodeGroup(t *testing.T) {
	tests := []struct {
		name, group string
		faults      api.Faults
		says        string
		nodes       int
	}{
		{
			"quota for one GPU node of two",
			"gpu",
			api.Faults{Quota: map[string]float64{quotaG: 48}},
			"VcpuLimitExceeded",
			2,
		},
		{
			"no system node",
			"system",
			api.Faults{NoCapacity: []api.TypeInZone{{Type: "m7i.xlarge"}}},
			"InsufficientInstanceCapacity",
			1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, placed("us-east-2a", "us-east-2b").platform)
			fakeAWSCLI(t)
			require.NoError(t, b.account.SetFaults(t.Context(), test.faults))
			_, err := b.up(ctx)
			require.Error(t, err)
			require.Contains(t, b.log.String(), test.says)
			failed := b.groups(t)[test.group]
			require.Equal(t, "CREATE_FAILED", failed.status)

			_, err = b.up(ctx)
			require.Error(t, err, "still nothing to be had, and no green")
			require.Contains(t, b.log.String(), test.says)

			require.NoError(t, b.account.SetFaults(t.Context(), api.Faults{}))
			_, err = b.up(ctx)
			require.NoError(t, err, b.log.String())
			repaired := b.groups(t)[test.group]
			assert.Equal(t, "ACTIVE", repaired.status)
			assert.NotEqual(t, failed.name, repaired.name)
			assert.Equal(t, test.nodes, b.instances(repaired.name))
			assert.Zero(t, b.instances(failed.name), "a failed group's machines bill")

			_, err = b.up(ctx, optup.ExpectNoChanges())
			require.NoError(t, err, b.log.String())
			b.empties(ctx, t)
		})
	}
}

// A stack of an earlier release has no subnets in other zones. The update only adds them, and a
// zone without capacity is left by replacing the node groups alone.
func TestEngineMovesOnlyTheNodes(t *testing.T) {
	ctx := context.Background()
	program := placed("us-east-2a", "us-east-2b")
	zones := program.args.AllZones
	program.args.AllZones = nil
	b := newBench(t, program.platform)
	fakeAWSCLI(t)
	_, err := b.up(ctx)
	require.NoError(t, err, b.log.String())

	program.args.AllZones = zones
	upgrade, err := b.stack.Preview(ctx)
	require.NoError(t, err)
	assert.Equal(t, 6, upgrade.ChangeSummary[apitype.OpCreate], "three subnets and their routes: %s", upgrade.StdOut)
	assert.Zero(t, upgrade.ChangeSummary[apitype.OpReplace]+upgrade.ChangeSummary[apitype.OpDelete], upgrade.StdOut)
	_, err = b.up(ctx)
	require.NoError(t, err, b.log.String())
	before := b.ids(t)

	require.NoError(t, b.account.SetFaults(t.Context(), api.Faults{
		NoCapacity: []api.TypeInZone{{Type: "g6.12xlarge", Zone: "us-east-2a"}},
	}))
	program.args.AvailabilityZone = "us-east-2b"
	move, err := b.stack.Preview(ctx, optpreview.Diff())
	require.NoError(t, err)
	assert.Equal(t, 2, move.ChangeSummary[apitype.OpReplace], "both node groups: %s", move.StdOut)
	assert.Zero(t, move.ChangeSummary[apitype.OpCreate]+move.ChangeSummary[apitype.OpDelete], move.StdOut)
	_, err = b.up(ctx)
	require.NoError(t, err, b.log.String())
	for urn, id := range b.ids(t) {
		if strings.Contains(urn, eks.NodeGroups.String()) {
			assert.NotEqual(t, before[urn], id, urn)
			continue
		}
		assert.Equal(t, before[urn], id, urn)
	}
	for name, group := range b.groups(t) {
		assert.Equal(t, "ACTIVE", group.status, name)
	}
	b.empties(ctx, t)
}

// ids are the ids of all resources in the state, by URN.
func (b *bench) ids(t *testing.T) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, made := range b.resources(t) {
		ids[string(made.URN)] = string(made.ID)
	}
	return ids
}

func TestEngineDestroysAFailedNodeGroup(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, placed("us-east-2a", "us-east-2b").platform)
	fakeAWSCLI(t)
	require.NoError(
		t,
		b.account.SetFaults(t.Context(),
			api.Faults{Quota: map[string]float64{quotaG: 48, quotaStandard: 2}}),
	)
	for range 2 {
		_, err := b.up(ctx)
		require.Error(t, err)
		require.Contains(t, b.log.String(), "VcpuLimitExceeded")
	}
	b.empties(ctx, t)
}
