package stack

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// export exports the stack outputs. Pulumi prints all of them after every `pulumi up`, so none
// grows with the number of ranks or nodes; those tables are outputs of the training job. Without a
// job the verdict is none.
func export(ctx *pulumi.Context, s settings.Settings, plan capacity.Plan, made *parts) {
	ctx.Export("clusterName", made.cluster.Name)
	ctx.Export("kubeconfig", made.cluster.Kubeconfig)
	ctx.Export("kubeconfigCommand", pulumi.String(fmt.Sprintf(
		"aws eks update-kubeconfig --region %s --name %s", s.AWSRegion, s.ClusterName)))
	ctx.Export("region", pulumi.String(s.AWSRegion))
	ctx.Export("availabilityZone", made.zone)
	ctx.Export("imageDigest", pulumi.String(s.Image.Digest))
	ctx.Export("chartVersions", pulumi.ToStringMap(chartVersions(s)))
	ctx.Export("hourlyUsd", pulumi.Float64(plan.Estimate.HourlyUSD()))

	if made.job == nil {
		ctx.Export("verdict", pulumi.String(jobs.VerdictNone))
		return
	}
	ctx.Export("verdict", made.job.Verdict)
	ctx.Export("evidence", evidence(s.GPU.Nodes, plan.GPU.GPUs, made.job))
	ctx.Export("stepsPerSecond", made.job.StepsPerSecond)
	ctx.Export("submissionId", made.job.SubmissionID)
	ctx.Export("reportPath", made.job.ReportPath)
	ctx.Export("reportPage", made.job.ReportPath.ApplyT(reportPage))
}

// reportPage returns the path of the report as a page, which is next to the text.
func reportPage(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, ".txt") + ".html"
}

// evidence returns the number of ranks and nodes in evidence as one line.
func evidence(nodes, gpusPerNode int, job *jobs.TrainingJob) pulumi.Output {
	return pulumi.All(job.Ranks, job.Nodes).ApplyT(func(tables []any) string {
		ranks, _ := tables[0].([]report.Rank)
		seen, _ := tables[1].([]jobs.Node)
		return fmt.Sprintf("%d of %d ranks on %d of %d GPU nodes",
			len(ranks), nodes*gpusPerNode, len(seen), nodes)
	})
}
