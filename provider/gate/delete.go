package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// AbandonVariable is the environment variable that names an unreachable cluster
// whose job may be given up.
const AbandonVariable = "RAYTRAIN_ABANDON_CLUSTER"

// stopPatience is how long a stop may take: the head kills a job 3 s after it
// asked, but does nothing to one that is PENDING.
const stopPatience = 60 * time.Second

// ErrUnreachable means that nobody can tell whether the job still runs.
var ErrUnreachable = errors.New("the cluster cannot be reached")

// Delete stops the job if it runs and settles the record, so that a resource of
// the same name never takes the old run as proof. With a cluster that is gone
// there is nothing left to stop; one that cannot be reached is an error, because
// a job may be running, and billing, in it.
func (t TrainingJob) Delete(ctx context.Context, req infer.DeleteRequest[State]) (infer.DeleteResponse, error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.DeleteResponse{}, err
	}
	run, err := t.prepare(ctx, name, instance, req.State.Inputs, req.State.Attempt)
	if err != nil {
		return infer.DeleteResponse{}, t.excuse(ctx, nil, req.State, err)
	}
	if err := run.giveUp(ctx); err != nil {
		return infer.DeleteResponse{}, t.excuse(ctx, run.cluster, req.State, err)
	}
	return infer.DeleteResponse{}, nil
}

// excuse says whether a delete that failed may pass nevertheless.
func (t TrainingJob) excuse(ctx context.Context, cluster Cluster, state State, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	var answered apierrors.APIStatus
	// An API server that answers is there, whatever the account that the shell
	// has credentials for knows of it.
	if cluster != nil && !errors.As(cause, &answered) {
		presence, err := cluster.Presence(ctx, state.ClusterName, state.Region)
		if presence == kube.Gone {
			t.env.Log(ctx, fmt.Sprintf("cluster %s is gone, and the job with it", state.ClusterName))
			return nil
		}
		if err != nil {
			cause = fmt.Errorf("%w (%w)", cause, err)
		}
	}
	if t.env.AbandonCluster != "" && t.env.AbandonCluster == state.ClusterName {
		t.env.Log(ctx, fmt.Sprintf("giving job %s on cluster %s up, as %s says; it may still run",
			state.SubmissionID, state.ClusterName, AbandonVariable))
		return nil
	}
	return fmt.Errorf("deleting training job: %w, so whether job %q still runs on %q is unknown: %w. "+
		"Next: restore the access (aws eks describe-cluster --name %s --region %s), or give the job up: %s=%s pulumi destroy",
		ErrUnreachable, state.SubmissionID, state.ClusterName, cause,
		state.ClusterName, state.Region, AbandonVariable, state.ClusterName)
}

// giveUp stops the recorded job and settles the record, if it is this
// instance's.
func (r *runner) giveUp(ctx context.Context) error {
	record, err := r.store.Load(ctx)
	if err != nil || record == nil || record.Instance != r.instance {
		return err
	}
	err = r.stop(ctx, *record)
	if errors.Is(err, rayapi.ErrStillActive) {
		// A PENDING job cannot be stopped; it ends with the RayCluster.
		r.env.Log(ctx, err.Error())
	} else if err != nil {
		return err
	}
	record.Settled = true
	return r.store.Save(ctx, *record)
}

// stop ends the record's job where there is one. Without a running head there
// is none: KubeRay's pods end what they run.
func (r *runner) stop(ctx context.Context, record attempt.Record) error {
	running, err := r.headRuns(ctx)
	if err != nil || !running {
		return err
	}
	// A head that runs and does not answer may run the job all the same.
	job, err := r.lookUp(ctx, record)
	if err != nil || job == nil || attempt.Classify(record, job) != attempt.Active {
		return err
	}
	r.env.Log(ctx, "stopping job "+record.SubmissionID)
	if _, err := r.ray.StopAndWait(ctx, record.SubmissionID, stopPatience); err != nil {
		return fmt.Errorf("%w. Next: kubectl -n %s delete pod -l ray.io/cluster=%s (KubeRay makes new ones)",
			err, r.in.Namespace, r.in.RayCluster)
	}
	return nil
}
