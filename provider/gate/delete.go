package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// AbandonVariable is the environment variable that names an unreachable cluster whose job may be
// forgotten.
const AbandonVariable = "RAYTRAIN_ABANDON_CLUSTER"

// ErrUnreachable means that it is unknown whether the job still runs.
var ErrUnreachable = errors.New("the cluster cannot be reached")

// Delete stops the job if it runs and settles the record, so that a resource of the same name never
// takes the old run as proof. When the cluster no longer exists, there is nothing left to stop. One
// that cannot be reached is an error, because a job may be running, and billing, in it.
func (t TrainingJob) Delete(ctx context.Context, req infer.DeleteRequest[State]) (infer.DeleteResponse, error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.DeleteResponse{}, err
	}
	operation, err := t.prepare(ctx, name, instance, req.State.Inputs, req.State.Attempt)
	if err != nil {
		return infer.DeleteResponse{}, t.allowDelete(ctx, nil, req.State, err)
	}
	if err := operation.abandon(ctx); err != nil {
		return infer.DeleteResponse{}, t.allowDelete(ctx, operation.cluster, req.State, err)
	}
	return infer.DeleteResponse{}, nil
}

// allowDelete returns nil when a delete may succeed although it failed for this cause.
func (t TrainingJob) allowDelete(ctx context.Context, cluster Cluster, state State, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	var answered apierrors.APIStatus
	// An API server that answers exists, whatever the account that the shell has credentials for
	// knows of it.
	if cluster != nil && !errors.As(cause, &answered) {
		presence, err := cluster.Presence(ctx, state.ClusterName, state.AWSRegion)
		if presence == kube.Gone {
			t.env.Log(ctx, fmt.Sprintf("cluster %s no longer exists, and neither does the job", state.ClusterName))
			return nil
		}
		if err != nil {
			cause = fmt.Errorf("%w (%w)", cause, err)
		}
	}
	if t.env.AbandonCluster != "" && t.env.AbandonCluster == state.ClusterName {
		t.env.Log(ctx, fmt.Sprintf("forgetting job %s on cluster %s, as %s says; it may still run",
			state.SubmissionID, state.ClusterName, AbandonVariable))
		return nil
	}
	return fmt.Errorf("deleting training job: %w, so whether job %q still runs on %q is unknown: %w. "+
		"Next: restore the access (aws eks describe-cluster --name %s --region %s), "+
		"or forget the job: %s=%s pulumi destroy",
		ErrUnreachable, state.SubmissionID, state.ClusterName, cause,
		state.ClusterName, state.AWSRegion, AbandonVariable, state.ClusterName)
}

// abandon stops the recorded job and settles the record, if it is this instance's.
func (o operation) abandon(ctx context.Context) error {
	record, err := o.store.Load(ctx)
	if err != nil || record == nil || record.Instance != o.instance {
		return err
	}
	err = o.stop(ctx, *record)
	if errors.Is(err, rayapi.ErrStillActive) {
		// A PENDING job cannot be stopped; it ends with the RayCluster.
		o.env.Log(ctx, err.Error())
	} else if err != nil {
		return err
	}
	record.Settled = true
	return o.store.Save(ctx, *record)
}
