package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

// AbandonVariable is the environment variable with the name of an unreachable cluster whose job may
// be removed from the state.
const AbandonVariable = "RAYTRAIN_ABANDON_CLUSTER"

// ErrUnreachable means that the cluster cannot be reached, so that the job may still run.
var ErrUnreachable = errors.New("the cluster cannot be reached")

// Delete stops the job if it runs and settles the record, so that a resource of the same name never
// takes the old run as proof. If the cluster no longer exists, there is nothing to stop. If the
// cluster cannot be reached, Delete returns an error, because a job may still be running there.
func (t TrainingJob) Delete(ctx context.Context, req infer.DeleteRequest[State]) (infer.DeleteResponse, error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.DeleteResponse{}, err
	}
	operation, err := t.prepare(ctx, name, instance, req.State.Inputs, req.State)
	if err != nil {
		return infer.DeleteResponse{}, t.allowDelete(ctx, nil, req.State, err)
	}
	if err := operation.stopAll(ctx); err != nil {
		return infer.DeleteResponse{}, t.allowDelete(ctx, operation.cluster, req.State, err)
	}
	return infer.DeleteResponse{}, nil
}

// allowDelete returns nil if the delete may succeed despite cause. It distinguishes four cases: a
// job that does not stop, a Ray head that returns an error, a cluster that no longer exists, and
// one that cannot be reached.
func (t TrainingJob) allowDelete(ctx context.Context, cluster Cluster, state State, cause error) error {
	var fromRay *rayapi.APIError
	switch {
	case ctx.Err() != nil, errors.Is(cause, rayapi.ErrStillActive):
		return cause
	case errors.As(cause, &fromRay):
		return fmt.Errorf("deleting training job: the Ray head of %q returned an error, "+
			"so job %q may still run: %w; next: kubectl -n %s delete pod -l %s "+
			"(this stops the job; KubeRay creates a new head), then pulumi destroy",
			state.RayCluster, state.SubmissionID, cause, state.Namespace, forward.HeadSelector(state.RayCluster))
	}
	var fromKubernetes apierrors.APIStatus
	// An API server that responds exists, even if the AWS account of the shell does not have the
	// cluster.
	if cluster != nil && !errors.As(cause, &fromKubernetes) {
		gone, err := t.gone(ctx, cluster, state)
		if gone {
			t.env.Warn(ctx, fmt.Sprintf("cluster %s no longer exists, and neither does the job", state.ClusterName))
			return nil
		}
		if err != nil {
			cause = fmt.Errorf("%w (%w)", cause, err)
		}
	}
	if t.env.AbandonCluster != "" && t.env.AbandonCluster == state.ClusterName {
		t.env.Warn(ctx, fmt.Sprintf("removing job %s on cluster %s from the state because of %s; "+
			"it may still run",
			state.SubmissionID, state.ClusterName, AbandonVariable))
		return nil
	}
	return fmt.Errorf("deleting training job: %w, so job %q may still run on %q: %w; "+
		"next: aws eks describe-cluster --name %s --region %s --query cluster.status; if it is ACTIVE, restore "+
		"access to its API server, then pulumi destroy; if it does not recover: %s=%s "+
		"PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy, which removes the job and the objects of the "+
		"cluster from the state without stopping them: until the nodes are deleted the job may run on, and "+
		"volumes and load balancers that the cluster made are left and cost money",
		ErrUnreachable, state.SubmissionID, state.ClusterName, cause,
		state.ClusterName, state.AWSRegion, AbandonVariable, state.ClusterName)
}

// ErrOtherAccount means that the credentials are not those of the cluster's AWS account.
var ErrOtherAccount = errors.New("the credentials belong to another AWS account")

// gone reports whether EKS, in the account that the job ran in, has no such cluster.
func (t TrainingJob) gone(ctx context.Context, cluster Cluster, state State) (bool, error) {
	presence, err := cluster.Presence(ctx, state.ClusterName, state.AWSRegion)
	if err != nil || presence != kube.Gone || state.AccountID == "" {
		return presence == kube.Gone, err
	}
	account, err := cluster.Account(ctx)
	if err == nil && account != state.AccountID {
		err = fmt.Errorf("comparing accounts: %w: they are for %s, the cluster is in %s",
			ErrOtherAccount, account, state.AccountID)
	}
	return err == nil, err
}

// stopAll stops all jobs of this instance and marks its record as settled.
func (o operation) stopAll(ctx context.Context) error {
	record, err := o.store.Load(ctx)
	if err != nil {
		return err
	}
	if record != nil && record.Instance == o.instance {
		if err := o.allowPending(ctx, o.stop(ctx, *record)); err != nil {
			return err
		}
	}
	if err := o.stopOwn(ctx); err != nil {
		return err
	}
	if record == nil || record.Instance != o.instance {
		return nil
	}
	return o.settle(ctx, *record)
}

// stopOwn stops active jobs of this instance without a record.
func (o operation) stopOwn(ctx context.Context) error {
	running, err := o.headRuns(ctx)
	if err != nil || !running {
		return err
	}
	ray, err := o.connect(ctx)
	if err != nil {
		return err
	}
	own, err := o.ownJobs(ctx, ray)
	if err != nil {
		return err
	}
	for _, job := range own {
		if job.Status.Final() || job.Status == rayapi.Pending {
			continue
		}
		if err := o.stopJob(ctx, ray, job.SubmissionID); err != nil {
			return err
		}
	}
	return o.awaitFree(ctx, ray, own)
}

// allowPending turns the error about a job that did not stop into a warning if the job is PENDING:
// Ray cannot stop it, and it uses no GPU yet. For a running job the error remains.
func (o operation) allowPending(ctx context.Context, err error) error {
	if !errors.Is(err, rayapi.ErrStillPending) {
		return err
	}
	o.env.Warn(ctx, fmt.Sprintf("%v; it uses no GPU yet, and ends with the RayCluster; if the RayCluster "+
		"stays: kubectl -n %s delete pod -l %s (KubeRay creates a new head)",
		err, o.in.Namespace, forward.HeadSelector(o.in.RayCluster)))
	return nil
}
