package gate

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
)

// preflightPoll is the time between two looks at a cluster that is not ready.
const preflightPoll = 3 * time.Second

// surroundings is the cluster as the preflight found it.
type surroundings struct {
	nodes []jobs.Node
	pods  []jobs.Pod
	// workers are the names of the worker pods.
	workers []string
	head    head
	// found are the findings of a cluster that is ready: what the worker pods answered.
	found []report.Finding
	// refusals are the findings that keep the job from being submitted.
	refusals []report.Finding
}

// preflight waits until the cluster is ready, at most as long as the inputs say and no longer than
// waiting can help.
func (o operation) preflight(ctx context.Context) (surroundings, error) {
	want := preflight.NewWanted(o.in)
	deadline := o.env.Now().Add(time.Duration(o.in.StartupSeconds) * time.Second)
	var (
		progress preflight.Progress
		seen     surroundings
	)
	for {
		facts, head, err := o.gather(ctx, want)
		switch {
		case err != nil && (ctx.Err() != nil || permanent(err)):
			return seen, err
		case err != nil:
			o.env.Log(ctx, "waiting for the cluster: "+err.Error())
		default:
			seen = surroundings{nodes: preflight.NodesSeen(facts), pods: preflight.PodsSeen(facts, want), head: head}
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

// permanent reports whether an error of the Kubernetes API does not go away by waiting.
func permanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) ||
		apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// gather connects to Ray anew each time: the Secret with its token appears together with the head.
func (o operation) gather(ctx context.Context, want preflight.Wanted) (preflight.Facts, head, error) {
	ray, err := o.connect(ctx)
	if err != nil {
		return preflight.Facts{}, head{}, err
	}
	facts, err := preflight.Gather(ctx, o.cluster.Kubernetes(), ray.Client, want)
	return facts, ray, err
}

// probe asks every worker pod of a cluster that is ready.
func (o operation) probe(ctx context.Context, seen surroundings, want preflight.Wanted) (surroundings, error) {
	for i := range seen.pods {
		pod := &seen.pods[i]
		if pod.Head {
			continue
		}
		seen.workers = append(seen.workers, pod.Name)
		result, err := o.probePod(ctx, pod.Name, want)
		if err != nil {
			return seen, err
		}
		pod.FIInfo, pod.DriverVersion, pod.CUDAVersion = result.FIInfo, result.DriverVersion, result.CUDAVersion
		seen.found = append(seen.found, preflight.CheckProbe(pod.Name, result, want)...)
	}
	seen.refusals = errorsAmong(seen.found)
	return seen, nil
}

const (
	// probeRetries and probePause are for a command that failed for a moment: it must not refuse the
	// job.
	probeRetries, probePause = 2, 3 * time.Second
)

// probePod asks one pod. An error means that the operation was cancelled, which is no answer.
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

// countersMoved returns how much the EFA counters increased since the submission, with the bound
// that they must reach; nil when they could not be read.
func (o operation) countersMoved(ctx context.Context, begun run) *jobs.Counters {
	moved := preflight.Moved(begun.record.Counters, preflight.ReadCounters(ctx, o.exec, begun.workers))
	if moved == nil {
		return nil
	}
	// A model of unknown size has no bound: its bytes only have to increase.
	parameters, _ := train.Parameters(o.in.Training.Model)
	moved.LeastBytes = preflight.LeastBytes(parameters, o.in.Training.Steps, o.in.Expectations.Nodes)
	return moved
}
