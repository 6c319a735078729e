package stack

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// export names everything that a person needs next. Without a job the verdict is none: never that of an earlier run.
func export(ctx *pulumi.Context, s settings.Settings, plan capacity.Plan, made *parts) {
	ctx.Export("clusterName", made.cluster.Name)
	ctx.Export("kubeconfig", made.cluster.Kubeconfig)
	ctx.Export("kubeconfigCommand", pulumi.String(fmt.Sprintf(
		"aws eks update-kubeconfig --region %s --name %s", s.Region, s.ClusterName)))
	ctx.Export("region", pulumi.String(s.Region))
	ctx.Export("availabilityZone", made.zone)
	ctx.Export("imageDigest", pulumi.String(s.Image.Digest))
	ctx.Export("chartVersions", pulumi.ToStringMap(chartVersions(s)))
	ctx.Export("hourlyUsd", pulumi.Float64(plan.Estimate.HourlyUSD()))
	ctx.Export("costLines", costLines(plan.Estimate))

	if made.job == nil {
		ctx.Export("verdict", pulumi.String(jobs.VerdictNone))
		ctx.Export("ranks", pulumi.Array{})
		return
	}
	ctx.Export("verdict", made.job.Verdict)
	ctx.Export("ranks", made.job.Ranks)
	ctx.Export("findings", made.job.Findings)
	ctx.Export("nodes", made.job.Nodes)
	ctx.Export("pods", made.job.Pods)
	ctx.Export("stepsPerSecond", made.job.StepsPerSecond)
	ctx.Export("worldSize", made.job.WorldSize)
	ctx.Export("submissionId", made.job.SubmissionID)
	ctx.Export("reportPath", made.job.ReportPath)
}

func costLines(estimate capacity.Estimate) pulumi.Array {
	lines := pulumi.Array{}
	for _, line := range estimate.Lines {
		lines = append(lines, pulumi.Map{
			"what": pulumi.String(line.What), "count": pulumi.Int(line.Count),
			"unitUsd": pulumi.Float64(line.UnitUSD), "hourlyUsd": pulumi.Float64(line.USD()),
			"source": pulumi.String(line.Source),
		})
	}
	return lines
}
