package stack

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// requiredProvider is the libfabric provider that the traffic must use.
const requiredProvider = "efa"

// newJob registers the gate; it returns nil if the job is disabled.
func newJob(
	ctx *pulumi.Context, s settings.Settings, plan capacity.Plan,
	made *cluster.Cluster, work *workloads.Workloads, environment map[string]string, efaSecurityGroup pulumi.StringOutput,
) (*jobs.TrainingJob, error) {
	if !s.Job.Enabled {
		return nil, nil //nolint:nilnil // no job is no error
	}
	var packages []string
	if s.Job.Pip != "" {
		var err error
		if packages, err = script.ReadRequirements(s.Job.Pip); err != nil {
			return nil, fmt.Errorf("checking job.pip: %w", err)
		}
	}
	return jobs.NewTrainingJob(ctx, "gate", &jobs.TrainingJobArgs{
		Kubeconfig:            made.Kubeconfig,
		ClusterName:           made.Name,
		Namespace:             work.Namespace,
		RayCluster:            work.RayCluster,
		ImageDigest:           pulumi.String(s.Image.String()),
		Environment:           pulumi.ToStringMap(environment),
		LaunchTemplateVersion: made.LaunchTemplateVersion,
		AMIRelease:            made.GPUAMIRelease,
		InstanceType:          pulumi.String(plan.GPU.Name),
		ChartVersions:         pulumi.ToStringMap(chartVersions(s)),
		RayClusterSpec:        pulumi.String(work.RayClusterSpec),
		Training:              training(s.Job),
		Entrypoint:            s.Job.Entrypoint,
		WorkingDir:            s.Job.WorkingDir,
		Pip:                   packages,
		Expectations: jobs.Expectations{
			WorldSize: s.GPU.Nodes * plan.GPU.GPUs, Nodes: s.GPU.Nodes,
			GPUsPerNode: plan.GPU.GPUs, EFAPerNode: plan.GPU.EFAInterfaces,
			Provider:           requiredProvider,
			RequireEFACounters: s.Job.RequireEFACounters, RequireFIInfo: s.Job.RequireFIInfo,
		},
		StartupSeconds:  s.Job.StartupSeconds,
		DeadlineSeconds: s.Job.DeadlineSeconds,
		PendingSeconds:  s.Job.PendingSeconds, NoProgressSeconds: s.Job.NoProgressSeconds,
		FailFast: s.Job.FailFast, OnCancel: s.Job.OnCancel,
		HourlyUSD:          plan.Estimate.HourlyUSD(),
		AWSRegion:          pulumi.String(s.AWSRegion),
		EFASecurityGroupID: efaSecurityGroup,
		EvidenceDir:        s.Job.EvidenceDir,
	}, pulumi.DependsOn(work.Made))
}

// training returns what the built-in training computes. Of a user's own script only the device is
// known.
func training(job settings.Job) train.Config {
	if job.Entrypoint != "" {
		return train.Config{Device: job.Training.Device}
	}
	return job.Training
}

// chartVersions returns the chart versions by release name.
func chartVersions(s settings.Settings) map[string]string {
	return map[string]string{
		"nvidia-device-plugin":      s.Charts.NVIDIA.Version,
		"aws-efa-k8s-device-plugin": s.Charts.EFA.Version,
		"kuberay-operator":          s.Charts.KubeRay.Version,
	}
}
