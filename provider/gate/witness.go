package gate

import (
	"context"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/counters"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/provider/probe"
)

// witness is what the cluster itself tells around the job, beside the ranks'
// logs.
type witness struct {
	nodes []jobs.Node
	pods  []jobs.Pod
	// found holds what the pods' answers to the probe amount to.
	found []jobs.Finding
}

// probe asks every worker pod what it has.
func (r *runner) probe(ctx context.Context) {
	wanted := probe.Wanted{
		Namespace: r.in.Namespace, EFA: r.in.Expectations.Probes, CUDA: r.in.Training.Device == train.CUDA,
	}
	for i := range r.seenAround.pods {
		pod := &r.seenAround.pods[i]
		if pod.Head {
			continue
		}
		result := probe.Run(ctx, r.exec, pod.Name)
		pod.FIInfo, pod.DriverVersion, pod.CUDAVersion = result.FIInfo, result.DriverVersion, result.CUDAVersion
		r.seenAround.found = append(r.seenAround.found, probe.Check(pod.Name, result, wanted)...)
	}
}

// refusals are the findings that keep the job from being submitted.
func (w witness) refusals() []jobs.Finding {
	var list []jobs.Finding
	for _, found := range w.found {
		if found.Severity == "error" {
			list = append(list, found)
		}
	}
	return list
}

// exec runs a command in a worker pod.
func (r *runner) exec(ctx context.Context, pod string, command []string) (string, error) {
	return r.cluster.Exec(ctx, r.in.Namespace, pod, command)
}

// movedBytes is how far the EFA counters went, with the bound that they are held
// to; nil when they could not be read.
func (r *runner) movedBytes(ctx context.Context) *jobs.Counters {
	moved := counters.Moved(r.before, counters.Read(ctx, r.exec, r.workers))
	if moved == nil {
		return nil
	}
	// A model without a known size has no bound: its bytes only have to move.
	parameters, _ := train.Parameters(r.in.Training.Model)
	moved.LeastBytes = counters.LeastBytes(parameters, r.in.Training.Steps, r.in.Expectations.Nodes)
	return moved
}

// wanted is what the preflight holds the cluster against.
func (r *runner) wanted() preflight.Wanted {
	return preflight.Wanted{
		NodeType: r.in.NodeType, Nodes: r.in.Expectations.Nodes,
		GPUsPerNode: r.in.Expectations.GPUsPerNode, EFAPerNode: r.in.Expectations.EFAPerNode,
		ImageDigest: r.in.ImageDigest, Namespace: r.in.Namespace, RayCluster: r.in.RayCluster,
		Templates: preflight.ReadTemplates(r.in.RayClusterSpec),
	}
}
