package account

import (
	"context"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// LoseCluster deletes a cluster and its node groups behind Pulumi's back, as somebody
// does in the AWS console.
func (a *Account) LoseCluster(ctx context.Context, name string) error {
	var groups []string
	var err error
	a.look(func(o *op) {
		_, err = o.cluster(name)
		for _, id := range o.NodeGroups.sorted() {
			if strings.HasPrefix(id, name+":") {
				groups = append(groups, id)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, id := range groups {
		if err := a.handlers[resource.TokenNodeGroup].doDelete(ctx, a, id); err != nil {
			return err
		}
	}
	return a.handlers[resource.TokenCluster].doDelete(ctx, a, name)
}
