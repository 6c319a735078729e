package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
)

// preflightPoll is the polling interval for a cluster that is not ready.
const preflightPoll = 3 * time.Second

// clusterState is the state of the cluster after the preflight.
type clusterState struct {
	nodes []jobs.Node
	pods  []jobs.Pod
	// workers are the names of the worker pods.
	workers []string
	head    head
	// found holds the findings about a ready cluster.
	found []report.Finding
	// refusals holds the findings that prevent the submission.
	refusals []report.Finding
}

// preflight waits until the cluster is ready, for at most StartupSeconds, and stops early if
// waiting cannot help.
func (o operation) preflight(ctx context.Context) (clusterState, error) {
	want := preflight.NewWanted(o.in)
	deadline := o.env.Now().Add(time.Duration(o.in.StartupSeconds) * time.Second)
	var (
		progress preflight.Progress
		seen     clusterState
	)
	for {
		facts, head, err := o.gather(ctx, want)
		switch {
		case err != nil && (ctx.Err() != nil || permanent(err)):
			return seen, err
		case err != nil:
			o.env.Log(ctx, "waiting for the cluster: "+err.Error())
		default:
			seen = clusterState{nodes: preflight.NodesSeen(facts), pods: preflight.PodsSeen(facts, want), head: head}
			seen.refusals = preflight.Check(facts, want)
			if len(seen.refusals) == 0 {
				return o.probe(ctx, seen, want)
			}
			if progress.Stalled(facts, want, o.env.Now()) {
				return seen, nil
			}
			o.env.Log(ctx, "waiting for the cluster: "+seen.refusals[0].Code+", "+seen.refusals[0].Text)
		}
		if !o.env.Now().Before(deadline) {
			return seen, err
		}
		if sleepErr := o.env.Sleep(ctx, preflightPoll); sleepErr != nil {
			return seen, errors.Join(sleepErr, err)
		}
	}
}

// permanent reports whether an error of the Kubernetes API is permanent.
func permanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) ||
		apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// gather creates a new Ray client each time, because the Secret with the token is created together
// with the head.
func (o operation) gather(ctx context.Context, want preflight.Wanted) (preflight.Facts, head, error) {
	ray, err := o.connect(ctx)
	if err != nil {
		return preflight.Facts{}, head{}, err
	}
	facts, err := preflight.Gather(ctx, o.cluster.Kubernetes(), ray.Client, want)
	return facts, ray, err
}

// probe runs the probe in every worker pod.
func (o operation) probe(ctx context.Context, seen clusterState, want preflight.Wanted) (clusterState, error) {
	found := make([][]report.Finding, len(seen.pods))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preflight.ParallelPods)
	for i := range seen.pods {
		pod := &seen.pods[i]
		if pod.Head {
			continue
		}
		seen.workers = append(seen.workers, pod.Name)
		group.Go(func() error {
			result, err := o.probePod(ctx, pod.Name, want)
			pod.FIInfo, pod.DriverVersion, pod.CUDAVersion = result.FIInfo, result.DriverVersion, result.CUDAVersion
			found[i] = preflight.CheckProbe(pod.Name, result, want)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return seen, err
	}
	seen.found = append(seen.found, slices.Concat(found...)...)
	seen.refusals = errorsAmong(seen.found)
	return seen, nil
}

const (
	// probeRetries and probePause are for commands that fail temporarily.
	probeRetries, probePause = 2, 3 * time.Second
)

// probePod runs the probe in one pod. It returns an error only if the operation was cancelled.
func (o operation) probePod(ctx context.Context, pod string, want preflight.Wanted) (preflight.ProbeResult, error) {
	for i := 0; ; i++ {
		result, err := preflight.Probe(ctx, o.exec, pod, want.CUDA)
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if err == nil || i == probeRetries {
			return result, nil
		}
		if err := o.env.Sleep(ctx, probePause); err != nil {
			return result, err
		}
	}
}

// counterIncrease returns the increase of the EFA counters since the submission, with the lower
// bound; nil if they could not be read.
func (o operation) counterIncrease(ctx context.Context, begun run) *evidence.Counters {
	moved := preflight.Increase(begun.record.Counters, preflight.ReadCounters(ctx, o.exec, begun.workers))
	if moved == nil {
		return nil
	}
	// For a model of unknown size there is no bound; the counters only have to increase.
	parameters, _ := train.Parameters(o.in.Training.Model)
	moved.LeastBytes = preflight.MinBytes(parameters, o.in.Training.Steps, o.in.Expectations.Nodes)
	return moved
}
