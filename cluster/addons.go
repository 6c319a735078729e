package cluster

import (
	"fmt"

	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// overwrite replaces the self-managed add-ons that EKS installs in every new cluster.
const overwrite = "OVERWRITE"

// addon is one managed add-on.
type addon struct {
	name          string
	configuration string
	preserve      bool
}

// addonsBeforeNodes creates the add-ons that nodes need to become ready. They become active without
// nodes.
func (b builder) addonsBeforeNodes(control *controlPlane) ([]pulumi.Resource, error) {
	var made []pulumi.Resource
	for _, a := range []addon{
		// Preserved on deletion, so that the CNI can release the nodes' addresses while the nodes are
		// deleted. The schema requires the string "true".
		{name: "vpc-cni", configuration: `{"enableNetworkPolicy":"true"}`, preserve: true},
		{name: "kube-proxy"},
		{name: "eks-pod-identity-agent"},
	} {
		resource, err := b.addon(control, a, control.component)
		if err != nil {
			return nil, err
		}
		made = append(made, resource)
	}
	return made, nil
}

// addonsAfterNodes creates the add-ons that stay degraded until a node can run them.
func (b builder) addonsAfterNodes(control *controlPlane, system pulumi.Resource) (pulumi.Resource, error) {
	return b.addon(control, addon{name: "coredns"}, system)
}

func (b builder) addon(control *controlPlane, a addon, after pulumi.Resource) (*awseks.Addon, error) {
	args := &awseks.AddonArgs{
		AddonName:                pulumi.String(a.name),
		ClusterName:              control.name,
		ResolveConflictsOnCreate: pulumi.String(overwrite),
		ResolveConflictsOnUpdate: pulumi.String(overwrite),
	}
	if a.configuration != "" {
		args.ConfigurationValues = pulumi.String(a.configuration)
	}
	if a.preserve {
		args.Preserve = pulumi.Bool(true)
	}
	made, err := awseks.NewAddon(b.ctx, a.name, args, b.parent, pulumi.DependsOn([]pulumi.Resource{after}))
	if err != nil {
		return nil, fmt.Errorf("creating add-on %q: %w", a.name, err)
	}
	return made, nil
}
