package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
	"github.com/ray-train-efa/ray-train-efa/internal/image"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// checkCapacity prints the price and refuses, also in preview, what AWS would refuse later in the
// update.
func checkCapacity(
	ctx *pulumi.Context, report reporter, exists ImageExists, ask lookup, s settings.Settings,
) (capacity.Plan, error) {
	plan, refused := capacity.Check(ask, request(s))
	for _, unknown := range plan.Unknown {
		if err := ctx.Log.Warn(unknown+"\nnext:     grant the statement Read of docs/permissions.json, "+
			"or continue: AWS checks it when it creates the resources", nil); err != nil {
			return plan, fmt.Errorf("printing what is unknown: %w", err)
		}
	}
	if len(plan.Estimate.Lines) > 0 {
		if err := report.price(plan.Estimate.Table(), plan.Estimate.HourlyUSD()); err != nil {
			return plan, err
		}
	}
	if refused != nil && len(refusal.All(refused)) == 0 {
		return plan, explainLookup(s, refused)
	}
	return plan, errors.Join(refused,
		workloads.CheckHead(plan.System, s.Ray.HeadCPU, s.Ray.HeadMemory),
		workloads.CheckObjectStores(plan.GPU, s.Ray), checkEvidenceDir(s.Job),
		checkImage(ctx, exists, s.Image))
}

// request returns what the stack needs.
func request(s settings.Settings) capacity.Request {
	group := func(g settings.NodeGroup) capacity.Group {
		return capacity.Group{
			Type: g.InstanceType, Nodes: g.Nodes, VolumeGiB: g.VolumeGiB,
			VolumeThroughput: g.VolumeThroughput, AMIRelease: g.AMIRelease,
		}
	}
	gpu := group(s.GPU.NodeGroup)
	gpu.Prepaid = s.GPU.Capacity == settings.BlockCapacity
	return capacity.Request{
		Region: s.AWSRegion, AvailabilityZone: s.AvailabilityZone, KubernetesVersion: s.KubernetesVersion,
		GPU: gpu, System: group(s.System),
		Addons: []capacity.Addon{
			{Setting: "addons.vpcCni", Name: "vpc-cni", Version: s.Addons.VPCCNI},
			{Setting: "addons.kubeProxy", Name: "kube-proxy", Version: s.Addons.KubeProxy},
			{Setting: "addons.coredns", Name: "coredns", Version: s.Addons.CoreDNS},
			{Setting: "addons.podIdentityAgent", Name: "eks-pod-identity-agent", Version: s.Addons.PodIdentityAgent},
		},
		MaxHourlyUSD: s.MaxHourlyUSD, Prices: s.Prices, Today: time.Now(),
	}
}

// explainLookup explains an error of AWS that left a question of the capacity check unanswered.
func explainLookup(s settings.Settings, err error) error {
	explained := diagnosis.Explain(diagnosis.Failure{Type: "aws:function", Error: err.Error()},
		diagnosis.Stack{Region: s.AWSRegion, ClusterName: s.ClusterName})
	explained.Summary = fmt.Sprintf("failed: could not check the capacity of AWS (%s)", explained.Code)
	explained.Billing = refusal.NothingCreated
	return explained
}

// checkEvidenceDir refuses a folder that cannot be created or written to. Without it the evidence of a
// run that costs money would be lost.
func checkEvidenceDir(job settings.Job) error {
	if !job.Enabled {
		return nil
	}
	folder, err := filepath.Abs(job.EvidenceDir)
	if err != nil {
		return fmt.Errorf("resolving job.evidenceDir %q: %w", job.EvidenceDir, err)
	}
	existing := folder
	info, err := os.Stat(existing)
	for errors.Is(err, fs.ErrNotExist) && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
		info, err = os.Stat(existing)
	}
	const write, search = 2, 1 // W_OK and X_OK of access(2)
	switch {
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%q is not a folder", existing)
	case err == nil:
		err = os.NewSyscallError("access", syscall.Access(existing, write|search))
	}
	if err == nil {
		return nil
	}
	return &refusal.Refusal{
		Code: codeEvidenceDir, Summary: fmt.Sprintf("refused: job.evidenceDir %q (%s)", job.EvidenceDir, codeEvidenceDir),
		Cause:   fmt.Sprintf("the folder %q cannot be written: %v", folder, err),
		Next:    "pulumi config set --path job.evidenceDir evidence",
		Billing: refusal.NothingCreated,
	}
}

// ImageExists reports whether a registry has an image. An error means that this is unknown.
type ImageExists func(ctx context.Context, wanted image.Reference) (bool, error)

// checkImage refuses an image that its registry does not have: otherwise the pods find out, after the
// nodes were created. A registry that cannot be asked from here is a warning only.
func checkImage(ctx *pulumi.Context, exists ImageExists, wanted image.Reference) error {
	found, err := exists(ctx.Context(), wanted)
	switch {
	case err != nil:
		if err := ctx.Log.Warn(fmt.Sprintf("whether the image exists is unknown: %v", err), nil); err != nil {
			return fmt.Errorf("printing the warning about the image: %w", err)
		}
		return nil
	case found:
		return nil
	}
	return &refusal.Refusal{
		Code: codeImageMissing, Summary: fmt.Sprintf("refused: imageDigest %q (%s)", wanted.Digest, codeImageMissing),
		Cause:   fmt.Sprintf("the registry has no such image in %q: it was deleted, or pinned from another repository", wanted.Repository),
		Next:    "raytrain image pin --stack " + ctx.Stack(),
		Billing: refusal.NothingCreated,
	}
}

// codeImageMissing is the code of the refusal of an image.
const codeImageMissing = "image-not-found"

// codeEvidenceDir is the code of the refusal of a folder for evidence.
const codeEvidenceDir = "evidence-dir-not-writable"
