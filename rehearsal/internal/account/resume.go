package account

import (
	"context"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// Resume tells the runtime of every cluster, add-on and node that the stored state
// holds, and goes on with what was being made or deleted when the account stopped, as
// AWS would have done meanwhile. Call it once after Open on a rehearsal that was kept.
func (a *Account) Resume(ctx context.Context) error {
	for _, name := range a.clustersIn(statusActive) {
		if err := a.resumeCluster(ctx, name); err != nil {
			return fmt.Errorf("resuming cluster %q: %w", name, err)
		}
	}
	// What fails from here on fails as it would have without the interruption: it is
	// written in the resource's status, where the next operation finds it.
	for _, name := range a.clustersIn(statusCreating) {
		a.settled("cluster", name, a.settleCluster(ctx, name))
	}
	for _, id := range statusIn(a, statusCreating, addonStatus) {
		a.settled("add-on", id, a.settleAddon(ctx, id, "create"))
	}
	for _, id := range statusIn(a, statusCreating, nodeGroupStatus) {
		a.settled("node group", id, a.settleNodeGroup(ctx, id))
	}
	for _, token := range []string{resource.TokenNodeGroup, resource.TokenAddon, resource.TokenCluster} {
		for _, id := range a.leaving(token) {
			a.settled(token, id, a.handlers[token].doDelete(ctx, a, id))
		}
	}
	return nil
}

func (a *Account) resumeCluster(ctx context.Context, name string) error {
	if err := a.startCluster(ctx, name); err != nil {
		return err
	}
	if err := a.applyAddons(ctx, name); err != nil {
		return err
	}
	return a.applyNodes(ctx, name)
}

// settled logs how something ended that nobody waits for any more.
func (a *Account) settled(what, id string, err error) {
	a.log.Info("resumed", "what", what, "id", id, "error", err)
}

func (a *Account) clustersIn(status string) []string {
	return statusIn(a, status, func(o *op) map[string]string {
		return statuses(o.Clusters, func(r *resource.Cluster) string { return r.Status })
	})
}

func addonStatus(o *op) map[string]string {
	return statuses(o.Addons, func(r *resource.Addon) string { return r.Status })
}

func nodeGroupStatus(o *op) map[string]string {
	return statuses(o.NodeGroups, func(r *resource.NodeGroup) string { return r.Status })
}

// leaving names what was being deleted.
func (a *Account) leaving(token string) []string {
	switch token {
	case resource.TokenNodeGroup:
		return statusIn(a, statusDeleting, nodeGroupStatus)
	case resource.TokenAddon:
		return statusIn(a, statusDeleting, addonStatus)
	default:
		return a.clustersIn(statusDeleting)
	}
}

func statuses[T any](rows table[T], status func(*T) string) map[string]string {
	all := map[string]string{}
	for id, row := range rows {
		all[id] = status(row)
	}
	return all
}

// statusIn lists the ids that have a status, in order.
func statusIn(a *Account, wanted string, of func(*op) map[string]string) []string {
	ids := table[struct{}]{}
	a.look(func(o *op) {
		for id, status := range of(o) {
			if status == wanted {
				ids[id] = nil
			}
		}
	})
	return ids.sorted()
}
