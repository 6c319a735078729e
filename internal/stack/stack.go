// Package stack contains the Pulumi program that `pulumi up` and rehearsals run.
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
	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// Program returns the Pulumi program, which appends its refusals and the price to events. It asks
// exists about the image.
//
// On a refusal the program prints the reasons and returns ErrReported.
func Program(events eventlog.Log, exists ImageExists) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		report := reporter{ctx: ctx, events: events, zone: &nodeZone{}, failure: newFailedUpdate()}
		err := run(ctx, report, exists)
		if err != nil {
			report.failure.exportNoVerdict(ctx)
		}
		return report.refuse(err)
	}
}

// run reads the settings, checks the capacity, creates everything and exports the outputs.
func run(ctx *pulumi.Context, report reporter, exists ImageExists) error {
	s, err := settings.Load(ctx)
	if err != nil {
		return err
	}
	if err := warnOfPrivateEndpoint(ctx, s); err != nil {
		return err
	}
	// An explicit provider, because the default one would use the region of the shell.
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{
		Region:      pulumi.String(s.AWSRegion),
		DefaultTags: aws.ProviderDefaultTagsArgs{Tags: pulumi.ToStringMap(stackTags(ctx))},
	})
	if err != nil {
		return fmt.Errorf("creating the AWS provider: %w", err)
	}
	ask := newLookup(ctx, provider, s.ClusterName)
	identity, err := ask.caller()
	if err != nil {
		return explainLookup(s, err)
	}
	if err := ask.checkCreator(identity, s); err != nil {
		return err
	}
	plan, err := checkCapacity(ctx, report, exists, ask, s)
	if err != nil {
		return err
	}
	report.zone.set(plan.Zone)
	if err := report.explainFailures(s, plan); err != nil {
		return err
	}
	if err := limitRoles(ctx, s.PermissionsBoundaryARN); err != nil {
		return err
	}
	made, err := report.failure.watch(ctx, func() (*parts, error) {
		return build(ctx, report, provider, s, plan, identity.accountID)
	})
	if err != nil {
		return err
	}
	export(ctx, s, plan, made)
	return nil
}

// warnOfPrivateEndpoint warns if the API server is reachable only from inside the VPC, which does
// not exist before the first update. It is not an error, because an existing stack can be updated
// from inside.
func warnOfPrivateEndpoint(ctx *pulumi.Context, s settings.Settings) error {
	if len(s.PublicAccessCIDRs) > 0 {
		return nil
	}
	if err := ctx.Log.Warn(privateEndpoint, nil); err != nil {
		return fmt.Errorf("printing the warning about publicAccessCidrs: %w", err)
	}
	return nil
}

// privateEndpoint is that warning.
const privateEndpoint = "publicAccessCidrs is []: only machines inside the stack's VPC can reach the " +
	"API server, and the first `pulumi up` creates that VPC. An update from outside that VPC " +
	"fails: the Helm releases and the gate time out while the resources cost money. " +
	"A later up or destroy fails in the same way.\n" +
	"next:     pulumi config set --path 'publicAccessCidrs[0]' " +
	"\"$(curl -s https://checkip.amazonaws.com)/32\", at least until pulumi runs inside that VPC"

// stackTags returns the tags of all AWS resources of the stack.
func stackTags(ctx *pulumi.Context) map[string]string {
	return map[string]string{"project": ctx.Project(), "stack": ctx.Stack()}
}

// parts is what build creates and the exports name.
type parts struct {
	// zone is where the nodes' subnet is.
	zone    pulumi.StringOutput
	cluster *cluster.Cluster
	// job is nil where the settings switch it off.
	job *jobs.TrainingJob
	// last depends on everything else.
	last []pulumi.Resource
}

// awaitSeconds returns how long the update waits for the RayCluster: 0 with a training job, which
// waits itself.
func awaitSeconds(s settings.Settings) int {
	if s.Job.Enabled {
		return 0
	}
	return s.Job.StartupSeconds
}

// build creates all resources. Each component depends on those before it, so that destroy deletes
// them in the reverse order: job, RayCluster, releases, CoreDNS, nodes, CNI, control plane, key and
// log group, EFA security group, placement group and reservation, network.
func build(
	ctx *pulumi.Context, report reporter, provider *aws.Provider, s settings.Settings, plan capacity.Plan,
	accountID string,
) (*parts, error) {
	inAWS := pulumi.Providers(provider)
	network, err := infra.NewNetwork(ctx, "network", &infra.NetworkArgs{
		Region: s.AWSRegion, ClusterName: s.ClusterName, VPCCIDR: s.VPCCIDR,
		AvailabilityZone: s.AvailabilityZone, Zone: plan.Zone, OtherZones: plan.OtherZones,
		ControlPlaneZone: plan.ControlPlaneZone, AllZones: plan.AllZones,
		Protect: s.Protect,
	}, inAWS)
	if err != nil {
		return nil, err
	}
	report.zone.follow(network.Zone)
	efa, err := infra.NewEFAGroups(ctx, "efa-groups", &infra.EFAGroupsArgs{
		ClusterName: s.ClusterName, VPCID: network.VPCID,
		Placement: s.GPU.Placement, GPU: s.GPU, Zone: network.Zone,
	}, inAWS)
	if err != nil {
		return nil, err
	}
	logs := &infra.SecretsAndLogsArgs{
		Region: s.AWSRegion, AccountID: accountID, ClusterName: s.ClusterName,
		LogRetentionDays: s.LogRetentionDays, Protect: s.Protect,
	}
	if s.FlowLogs {
		logs.FlowLogsOf = network.VPCID
	}
	secretsAndLogs, err := infra.NewSecretsAndLogs(ctx, "secrets-and-logs", logs, inAWS)
	if err != nil {
		return nil, err
	}
	made, err := cluster.New(ctx, "cluster", &cluster.Args{
		Name: s.ClusterName, Region: s.AWSRegion, KubernetesVersion: s.KubernetesVersion,
		PublicAccessCIDRs: s.PublicAccessCIDRs, AdminPrincipalARNs: s.AdminPrincipalARNs,
		VPCID: network.VPCID, ControlPlaneSubnetIDs: network.ControlPlaneSubnetIDs,
		NodeSubnetID: network.NodeSubnetID, SecretsKeyARN: secretsAndLogs.KeyARN,
		EFASecurityGroupID: efa.SecurityGroupID, PlacementGroupName: efa.PlacementGroupName,
		ReservationID: efa.ReservationID,
		GPU:           s.GPU, System: s.System, GPUType: plan.GPU, Tags: stackTags(ctx), Protect: s.Protect,
		Addons: s.Addons, FastImagePull: s.FastImagePull, LeaseEnd: s.LeaseEnd(time.Now()),
		AWS: provider,
	}, inAWS, pulumi.DependsOn(slices.Concat(network.Made, efa.Made, secretsAndLogs.Made)))
	if err != nil {
		return nil, err
	}
	environment := workloads.Environment(s.Job.Environment)
	work, err := workloads.New(ctx, "workloads", &workloads.Args{
		Region: s.AWSRegion, Image: s.Image, Charts: s.Charts, Ray: s.Ray,
		GPUType: plan.GPU, Workers: s.GPU.Nodes,
		Environment: environment, AwaitSeconds: awaitSeconds(s), Kubernetes: made.Kubernetes,
	}, pulumi.DependsOn(made.Made))
	if err != nil {
		return nil, err
	}
	gate, err := newJob(ctx, s, plan, made, work, environment, efa.SecurityGroupID)
	if err != nil {
		return nil, err
	}
	last := work.Made
	if gate != nil {
		last = []pulumi.Resource{gate}
	}
	return &parts{zone: network.Zone, cluster: made, job: gate, last: last}, nil
}
