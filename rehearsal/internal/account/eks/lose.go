package eks

import (
	"context"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// LoseCluster deletes a cluster and its node groups without Pulumi, as in the AWS
// console.
func LoseCluster(ctx context.Context, a *store.Store, name string) error {
	var groups []string
	var err error
	a.Look(func(o *store.Op) {
		_, err = activeCluster(o, name)
		for _, id := range NodeGroups.In(o).IDs() {
			if strings.HasPrefix(id, name+":") {
				groups = append(groups, id)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, id := range groups {
		if err := a.Delete(ctx, NodeGroups.String(), id); err != nil {
			return err
		}
	}
	return a.Delete(ctx, Clusters.String(), name)
}
