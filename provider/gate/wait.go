package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

// wait waits for the job and copies its evidence. If the head stays unreachable, the error says
// what runs; the next update adopts the job.
func (o operation) wait(
	ctx context.Context, begun run, collector *evidence.Collector,
) (follow.Outcome, error) {
	end, err := follow.Job{
		Ray: begun.head.Client, ID: begun.record.SubmissionID, Session: begun.record.Session,
		Deadline:   time.Duration(o.in.DeadlineSeconds) * time.Second,
		Pending:    time.Duration(o.in.PendingSeconds) * time.Second,
		NoProgress: time.Duration(o.in.NoProgressSeconds) * time.Second,
		// The node group has a fixed size.
		GPUs:        o.in.Expectations.Nodes * o.in.Expectations.GPUsPerNode,
		GPUsPerNode: o.in.Expectations.GPUsPerNode,
		Watch:       evidence.NewWatch(o.evidence(begun)),
		FailFast:    o.in.FailFast,
		Clock:       evidence.Clock{Now: o.env.Now, Sleep: o.env.Sleep},
		Log:         func(line string) { o.env.Log(ctx, string(begun.head.redact([]byte(line)))) },
	}.Wait(ctx, collector)
	if errors.Is(err, follow.ErrHeadUnreachable) {
		err = o.unreachable(ctx, err)
	}
	return end, err
}

// unreachable returns the error for a head that was unreachable for follow.HeadTimeout. If its pod runs,
// the dashboard has ended and does not restart.
func (o operation) unreachable(ctx context.Context, err error) error {
	running, lookErr := o.headRuns(ctx)
	switch {
	case lookErr != nil:
		// First, because it is the reason: without the API server the head cannot be reached.
		return fmt.Errorf("the Kubernetes API server does not answer: %w; %w; "+
			"next: pulumi up (continues with the same job)", lookErr, err)
	case running:
		return fmt.Errorf("%w; the head's pod is running, but its dashboard has been "+
			"unreachable for %s; "+
			"next: pulumi up (continues with the same job); if that fails again: "+
			"kubectl -n %s delete pod -l %s (KubeRay creates a new head; the job is lost)",
			err, follow.HeadTimeout, o.in.Namespace, forward.HeadSelector(o.in.RayCluster))
	default:
		return fmt.Errorf("%w; no head pod runs; next: kubectl -n %s get pods, then pulumi up",
			err, o.in.Namespace)
	}
}
