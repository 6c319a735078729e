// Package stack is the whole program as one function, which `pulumi up` and a rehearsal both run.
package stack

import (
	"fmt"
	"slices"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/infra"
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// Run is the program: settings, capacity, infrastructure, cluster, workloads, job, exports.
func Run(ctx *pulumi.Context) error {
	s, err := settings.Load(ctx)
	if err != nil {
		return err
	}
	if err := warnOfPrivateEndpoint(ctx, s); err != nil {
		return err
	}
	// One explicit provider, with the region of the settings: a default one would take the shell's.
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{
		Region:      pulumi.String(s.Region),
		DefaultTags: aws.ProviderDefaultTagsArgs{Tags: pulumi.ToStringMap(stackTags(ctx))},
	})
	if err != nil {
		return fmt.Errorf("making the AWS provider: %w", err)
	}
	plan, err := preflight(ctx, provider, s)
	if err != nil {
		return err
	}
	where := &whereabouts{zone: plan.Zone}
	if err := explainFailures(ctx, s, plan, where); err != nil {
		return err
	}
	made, err := build(ctx, provider, s, plan, where)
	if err != nil {
		return err
	}
	export(ctx, s, plan, made)
	return nil
}

// warnOfPrivateEndpoint says, in preview too, what an API server inside a VPC that the stack itself makes means: nobody can be in
// that VPC yet. It refuses nothing, since a stack that stands may well be updated from inside.
func warnOfPrivateEndpoint(ctx *pulumi.Context, s settings.Settings) error {
	if len(s.PublicAccess) > 0 {
		return nil
	}
	if err := ctx.Log.Warn(privateEndpoint, nil); err != nil {
		return fmt.Errorf("printing the warning about publicAccessCidrs: %w", err)
	}
	return nil
}

// privateEndpoint is that warning.
const privateEndpoint = "publicAccessCidrs is []: only machines inside the stack's VPC will reach the API server, and the first `pulumi up` " +
	"makes that VPC. Run from outside, it cannot finish: the Helm releases and the gate wait for the API server in vain after everything " +
	"bills, and so does a later up or destroy.\n" +
	"next:     pulumi config set --path 'publicAccessCidrs[0]' \"$(curl -s https://checkip.amazonaws.com)/32\", at least until pulumi runs " +
	"inside that VPC"

// stackTags are on everything that the stack makes in AWS.
func stackTags(ctx *pulumi.Context) map[string]string {
	return map[string]string{"project": ctx.Project(), "stack": ctx.Stack()}
}

// preflight refuses, in preview too, what AWS would refuse after minutes of billing, and prints the price.
func preflight(ctx *pulumi.Context, provider *aws.Provider, s settings.Settings) (capacity.Plan, error) {
	plan, refused := capacity.Check(newLookup(ctx, provider, s.ClusterName), capacity.Request{
		Region: s.Region, Zone: s.Zone, KubernetesVersion: s.KubernetesVersion,
		GPU:          capacity.Group{Type: s.GPU.InstanceType, Nodes: s.GPU.Nodes, VolumeGiB: s.GPU.VolumeGiB},
		System:       capacity.Group{Type: s.System.InstanceType, Nodes: s.System.Nodes, VolumeGiB: s.System.VolumeGiB},
		MaxHourlyUSD: s.MaxHourlyUSD, Prices: s.Prices,
	})
	if len(plan.Estimate.Lines) > 0 {
		if err := ctx.Log.Info(plan.Estimate.Table(), nil); err != nil {
			return plan, fmt.Errorf("printing the price: %w", err)
		}
	}
	if refused != nil {
		return plan, fmt.Errorf("%w\n%s", refused, unbilled)
	}
	return plan, nil
}

// unbilled ends a refusal that came before anything was made.
const unbilled = "billing:  nothing new: this run made nothing; what an earlier one made bills until `pulumi destroy`"

// parts is what build made and the exports name.
type parts struct {
	// zone is where the nodes' subnet is.
	zone      pulumi.StringOutput
	cluster   *cluster.Cluster
	workloads *workloads.Workloads
	// job is nil where the platform stands alone.
	job *jobs.TrainingJob
}

// await leaves it to the training job, where there is one, to wait for the RayCluster.
func await(s settings.Settings) time.Duration {
	if s.Job.Enabled {
		return 0
	}
	return s.Job.Startup
}

// build makes everything. Each component depends on those before it, so that destroy takes them apart the other way round:
// job, RayCluster, releases, CoreDNS, nodes, CNI, control plane, key and logs, fabric, network.
func build(ctx *pulumi.Context, provider *aws.Provider, s settings.Settings, plan capacity.Plan, where *whereabouts) (*parts, error) {
	inAWS := pulumi.Providers(provider)
	network, err := infra.NewNetwork(ctx, "network", &infra.NetworkArgs{
		Region: s.Region, ClusterName: s.ClusterName, VPC: s.VPC,
		Zone: plan.Zone, OtherZones: plan.OtherZones, WantedZone: s.Zone, ControlPlaneZone: plan.ControlPlaneZone,
	}, inAWS)
	if err != nil {
		return nil, err
	}
	where.follow(network.Zone)
	fabric, err := infra.NewFabric(ctx, "fabric", &infra.FabricArgs{ClusterName: s.ClusterName, VPCID: network.VPCID}, inAWS)
	if err != nil {
		return nil, err
	}
	safekeeping, err := infra.NewSafekeeping(ctx, "safekeeping", &infra.SafekeepingArgs{
		ClusterName: s.ClusterName, LogRetentionDays: s.LogRetentionDays,
	}, inAWS)
	if err != nil {
		return nil, err
	}
	made, err := cluster.New(ctx, "cluster", &cluster.Args{
		Name: s.ClusterName, Region: s.Region, KubernetesVersion: s.KubernetesVersion,
		PublicAccess: s.PublicAccess, AdminPrincipals: s.AdminPrincipals,
		VPCID: network.VPCID, ControlPlaneSubnetIDs: network.ControlPlaneSubnetIDs, NodeSubnetID: network.NodeSubnetID,
		SecretsKeyARN:      safekeeping.KeyARN,
		EFASecurityGroupID: fabric.SecurityGroupID, PlacementGroupName: fabric.PlacementGroupName,
		GPU: s.GPU, System: s.System, GPUType: plan.GPU, AWS: provider,
	}, inAWS, pulumi.DependsOn(slices.Concat(network.Made, fabric.Made, safekeeping.Made)))
	if err != nil {
		return nil, err
	}
	environment := workloads.Environment(s.Job.Environment)
	work, err := workloads.New(ctx, "workloads", &workloads.Args{
		Region: s.Region, Image: s.Image, Charts: s.Charts, Ray: s.Ray,
		GPUType: plan.GPU, Workers: s.GPU.Nodes, SystemType: plan.System,
		Environment: environment, Await: await(s), Kubernetes: made.Kubernetes,
	}, pulumi.DependsOn(made.Made))
	if err != nil {
		return nil, err
	}
	gate, err := newJob(ctx, s, plan, made, work, environment)
	if err != nil {
		return nil, err
	}
	return &parts{zone: network.Zone, cluster: made, workloads: work, job: gate}, nil
}
