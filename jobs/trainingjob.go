// Package jobs defines the TrainingJob resource for Pulumi programs, which succeeds only if NCCL is
// proven to have used EFA.
package jobs

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// TrainingJobToken is the resource type that provider/ serves.
const TrainingJobToken = "raytrain:index:TrainingJob"

// TrainingJobArgs describes one gated training job. Fields marked "proof" are
// part of the proof hash: a change runs one new job. The others are stored
// without running anything.
type TrainingJobArgs struct {
	// Kubeconfig reaches the cluster; always kept secret.
	Kubeconfig pulumi.StringInput `pulumi:"kubeconfig"`
	// ClusterName is the EKS cluster's name. A change replaces the resource.
	ClusterName pulumi.StringInput `pulumi:"clusterName"`
	// Namespace holds the RayCluster and the attempt record. A change replaces
	// the resource.
	Namespace pulumi.StringInput `pulumi:"namespace"`
	// RayCluster is the RayCluster's name. A change replaces the resource. The program need not wait for it to
	// be ready: the preflight does, and reports what is missing.
	RayCluster pulumi.StringInput `pulumi:"rayCluster"`

	// ImageDigest is "repository@sha256:..." (or only "sha256:..."), which head
	// and workers must run. Proof.
	ImageDigest pulumi.StringInput `pulumi:"imageDigest"`
	// Environment holds the NCCL and libfabric settings of the job. Never a
	// secret: Ray shows it to anyone who may read a job. Proof.
	Environment pulumi.StringMapInput `pulumi:"environment"`
	// LaunchTemplateVersion and AMIRelease identify what the GPU nodes boot.
	// Proof.
	LaunchTemplateVersion pulumi.StringInput `pulumi:"launchTemplateVersion"`
	AMIRelease            pulumi.StringInput `pulumi:"amiRelease"`
	// InstanceType is the GPU nodes'. Proof.
	InstanceType pulumi.StringInput `pulumi:"instanceType"`
	// ChartVersions maps a chart's name to its version. Proof.
	ChartVersions pulumi.StringMapInput `pulumi:"chartVersions"`
	// RayClusterSpec is the RayCluster's spec as JSON, or a hash of it. Proof.
	RayClusterSpec pulumi.StringInput `pulumi:"rayClusterSpec"`
	// Training is what the built-in training computes. Proof. With Entrypoint only its Device is used.
	Training train.Config `pulumi:"training"`
	// Entrypoint is the command of a script of the user's own, which runs instead of the built-in
	// training; empty for the built-in training. The script needs no change (package script). Proof.
	Entrypoint string `pulumi:"entrypoint,optional"`
	// WorkingDir is the local folder that Entrypoint runs in; empty if the image contains the script.
	WorkingDir string `pulumi:"workingDir,optional"`
	// WorkingDirDigest is script.Digest of WorkingDir. NewTrainingJob sets it. Proof.
	WorkingDirDigest string `pulumi:"workingDirDigest,optional"`
	// Pip are the Python packages that each node installs for Entrypoint, as script.ReadRequirements
	// returns them; empty for none. Proof.
	Pip []string `pulumi:"pip,optional"`
	// Expectations is what the gate requires. Proof.
	Expectations Expectations `pulumi:"expectations"`

	// StartupSeconds is how long the preflight waits for nodes, devices and pods.
	StartupSeconds int `pulumi:"startupSeconds"`
	// DeadlineSeconds is how long the job may take from submission; at the
	// deadline it is stopped, and its evidence is judged.
	DeadlineSeconds int `pulumi:"deadlineSeconds"`
	// PendingSeconds is how long the job may wait for resources, NoProgressSeconds how long a running job
	// may show nothing new: neither evidence nor, once it has reported one, a step. Then it is stopped and
	// judged. 0 means until the deadline.
	PendingSeconds    int `pulumi:"pendingSeconds,optional"`
	NoProgressSeconds int `pulumi:"noProgressSeconds,optional"`
	// FailFast stops the job as soon as its evidence shows that it can no longer become efa.
	FailFast bool `pulumi:"failFast,optional"`
	// OnCancel is what happens to the running job when the update is canceled; empty means LeaveJob.
	OnCancel OnCancel `pulumi:"onCancel,optional"`
	// HourlyUSD is the price of the running stack, for the error text.
	HourlyUSD float64 `pulumi:"hourlyUsd"`
	// AWSRegion is the AWS region, for the commands that error texts suggest.
	AWSRegion pulumi.StringInput `pulumi:"awsRegion"`
	// EFASecurityGroupID is the security group of the EFA interfaces, for the same commands.
	EFASecurityGroupID pulumi.StringPtrInput `pulumi:"efaSecurityGroupId,optional"`
	// EvidenceDir is a local folder; each attempt's report and raw logs go into
	// a folder below it that is named by the submission id.
	EvidenceDir string `pulumi:"evidenceDir"`
}

// TrainingJob is a training run whose evidence was judged. It is in the state, with its evidence,
// even if the update failed.
type TrainingJob struct {
	pulumi.CustomResourceState

	// Verdict is "efa", "not-efa", "mixed", "inconclusive" or "none".
	Verdict pulumi.StringOutput `pulumi:"verdict"`
	// Findings is what preflight and evidence show.
	Findings FindingArrayOutput `pulumi:"findings"`
	// Ranks is the per-rank table.
	Ranks RankArrayOutput `pulumi:"ranks"`
	// SubmissionID is the Ray job that was judged; empty when none ran.
	SubmissionID pulumi.StringOutput `pulumi:"submissionId"`
	// Attempt counts the submissions of this resource's name in its cluster.
	Attempt pulumi.IntOutput `pulumi:"attempt"`
	// ProofHash is the hash of the proof.
	ProofHash pulumi.StringOutput `pulumi:"proofHash"`
	// ReportPath is the local text report; empty when none was written.
	ReportPath pulumi.StringOutput `pulumi:"reportPath"`
	// StepsPerSecond is what rank 0 measured; nil when it reported nothing.
	StepsPerSecond pulumi.Float64PtrOutput `pulumi:"stepsPerSecond"`
	// WorldSize is the number of ranks in evidence; nil when unknown.
	WorldSize pulumi.IntPtrOutput `pulumi:"worldSize"`
	// Nodes is what each GPU node had allocatable, Pods what each pod ran, when
	// the job was submitted.
	Nodes NodeArrayOutput `pulumi:"nodes"`
	Pods  PodArrayOutput  `pulumi:"pods"`
	// Rehearsed is true in a rehearsal.
	Rehearsed pulumi.BoolOutput `pulumi:"rehearsed"`
}

// ElementType makes TrainingJobArgs a pulumi.Input of Inputs.
func (TrainingJobArgs) ElementType() reflect.Type { return reflect.TypeFor[Inputs]() }

// NewTrainingJob registers a training job. The update fails, with the evidence
// kept in the state, unless the verdict is "efa".
func NewTrainingJob(
	ctx *pulumi.Context, name string, args *TrainingJobArgs, opts ...pulumi.ResourceOption,
) (*TrainingJob, error) {
	if err := args.complete(name); err != nil {
		return nil, err
	}
	secret := *args
	if args.WorkingDir != "" {
		digest, err := script.Digest(args.WorkingDir)
		if err != nil {
			return nil, fmt.Errorf("registering training job %q: %w", name, err)
		}
		secret.WorkingDirDigest = digest
	}
	// Marked here, so that no program can forget it.
	if kubeconfig, ok := pulumi.ToSecret(args.Kubeconfig.ToStringOutput()).(pulumi.StringOutput); ok {
		secret.Kubeconfig = kubeconfig
	}
	opts = append(opts, pulumi.AdditionalSecretOutputs([]string{"kubeconfig"}))
	var job TrainingJob
	if err := ctx.RegisterResource(TrainingJobToken, name, secret, &job, opts...); err != nil {
		return nil, fmt.Errorf("registering training job %q: %w", name, err)
	}
	return &job, nil
}

// complete returns an error that names every missing argument.
func (args *TrainingJobArgs) complete(name string) error {
	if args == nil {
		return fmt.Errorf("checking training job %q: %w: all arguments", name, ErrMissingArgument)
	}
	required := []struct {
		property string
		present  bool
	}{
		{"kubeconfig", args.Kubeconfig != nil},
		{"clusterName", args.ClusterName != nil},
		{"namespace", args.Namespace != nil},
		{"rayCluster", args.RayCluster != nil},
		{"imageDigest", args.ImageDigest != nil},
		{"environment", args.Environment != nil},
		{"launchTemplateVersion", args.LaunchTemplateVersion != nil},
		{"amiRelease", args.AMIRelease != nil},
		{"instanceType", args.InstanceType != nil},
		{"chartVersions", args.ChartVersions != nil},
		{"rayClusterSpec", args.RayClusterSpec != nil},
		{"awsRegion", args.AWSRegion != nil},
	}
	var missing []error
	for _, r := range required {
		if !r.present {
			missing = append(
				missing,
				fmt.Errorf(
					"checking training job %q: %w: %q",
					name,
					ErrMissingArgument,
					r.property,
				),
			)
		}
	}
	return errors.Join(missing...)
}

// ErrMissingArgument is wrapped by the errors that name a missing argument.
var ErrMissingArgument = errors.New("missing argument")
