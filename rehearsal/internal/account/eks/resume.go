package eks

import (
	"context"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Resume passes every cluster, add-on and node of the stored state on to the runtime, and completes
// creations and deletions that were in progress when the account stopped. Call it once after Open.
func Resume(ctx context.Context, a *store.Store) error {
	for _, name := range clustersWithStatus(a, StatusActive) {
		if err := resumeCluster(ctx, a, name); err != nil {
			return fmt.Errorf("resuming cluster %q: %w", name, err)
		}
	}
	// Later failures are stored in the resource's status, as without an interruption.
	for _, name := range clustersWithStatus(a, StatusCreating) {
		logResumed(a, "cluster", name, finishCluster(ctx, a, name))
	}
	for _, id := range statusIn(a, StatusCreating, addonStatus) {
		logResumed(a, "add-on", id, finishAddon(ctx, a, id, "create"))
	}
	for _, id := range statusIn(a, StatusCreating, nodeGroupStatus) {
		logResumed(a, "node group", id, finishNodeGroup(ctx, a, id))
	}
	for _, token := range []string{NodeGroups.String(), Addons.String(), Clusters.String()} {
		for _, id := range beingDeleted(a, token) {
			logResumed(a, token, id, a.Delete(ctx, token, id))
		}
	}
	return nil
}

func resumeCluster(ctx context.Context, a *store.Store, name string) error {
	if err := startCluster(ctx, a, name); err != nil {
		return err
	}
	if err := applyAddons(ctx, a, name); err != nil {
		return err
	}
	return applyNodes(ctx, a, name)
}

// logResumed logs the end of a resumed operation.
func logResumed(a *store.Store, what, id string, err error) {
	a.Log().Info("resumed", "what", what, "id", id, "error", err)
}

func clustersWithStatus(a *store.Store, status string) []string {
	return statusIn(a, status, func(o *store.Op) map[string]string {
		return statuses(Clusters.In(o), func(r *Cluster) string { return r.Status })
	})
}

func addonStatus(o *store.Op) map[string]string {
	return statuses(Addons.In(o), func(r *Addon) string { return r.Status })
}

func nodeGroupStatus(o *store.Op) map[string]string {
	return statuses(NodeGroups.In(o), func(r *NodeGroup) string { return r.Status })
}

// beingDeleted lists the deletions that were in progress.
func beingDeleted(a *store.Store, token string) []string {
	switch token {
	case NodeGroups.String():
		return statusIn(a, StatusDeleting, nodeGroupStatus)
	case Addons.String():
		return statusIn(a, StatusDeleting, addonStatus)
	default:
		return clustersWithStatus(a, StatusDeleting)
	}
}

func statuses[T any](rows store.Table[T], status func(*T) string) map[string]string {
	all := map[string]string{}
	for id, row := range rows {
		all[id] = status(row)
	}
	return all
}

// statusIn lists the ids that have a status, in order.
func statusIn(a *store.Store, wanted string, of func(*store.Op) map[string]string) []string {
	ids := store.Table[struct{}]{}
	a.Look(func(o *store.Op) {
		for id, status := range of(o) {
			if status == wanted {
				ids[id] = nil
			}
		}
	})
	return ids.IDs()
}
