package follow

import (
	"context"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// gpu is Ray's name of the resource.
const gpu = "GPU"

// demands returns a request of the job for more GPUs than the cluster can ever have; "" for none, and if
// Ray does not tell.
func (j Job) demands(ctx context.Context) string {
	if j.GPUs == 0 {
		return ""
	}
	job, err := j.Ray.Job(ctx, j.ID)
	if err != nil || job.JobID == "" { // it requested nothing yet
		return ""
	}
	groups, err := j.Ray.PlacementGroups(ctx)
	if err != nil {
		return ""
	}
	actors, err := j.Ray.Actors(ctx)
	if err != nil {
		return ""
	}
	return j.impossible(job.JobID, groups, actors)
}

// impossible returns the first request of the job that waits and that the whole cluster cannot meet.
func (j Job) impossible(jobID string, groups []rayapi.PlacementGroup, actors []rayapi.Actor) string {
	for _, group := range groups {
		if group.JobID != jobID || group.State != rayapi.GroupPending {
			continue
		}
		total := 0.0
		for _, bundle := range group.Bundles {
			wanted := bundle.Resources[gpu]
			total += wanted
			if wanted > float64(j.GPUsPerNode) {
				return fmt.Sprintf("a bundle of a placement group requests %g GPUs, and a node has %d", wanted, j.GPUsPerNode)
			}
		}
		if total > float64(j.GPUs) {
			return fmt.Sprintf("a placement group requests %g GPUs, and the cluster has %d", total, j.GPUs)
		}
	}
	for _, actor := range actors {
		wanted := actor.Resources[gpu]
		if actor.JobID == jobID && actor.State == rayapi.ActorPending && wanted > float64(j.GPUsPerNode) {
			return fmt.Sprintf("an actor (%s) requests %g GPUs, and a node has %d", actor.ClassName, wanted, j.GPUsPerNode)
		}
	}
	return ""
}
