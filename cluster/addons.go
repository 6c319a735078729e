package cluster

import (
	"fmt"

	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// overwrite replaces the self-managed add-ons that EKS installs in every new cluster.
const overwrite = "OVERWRITE"

// addon is one managed add-on.
type addon struct {
	name, version string
	configuration string
	preserve      bool
	// serviceAccount gets the role through EKS Pod Identity, if role is not nil.
	serviceAccount string
	role           *iam.Role
	// after are the resources that must exist first.
	after []pulumi.Resource
}

// addonsBeforeNodes creates the add-ons that nodes need to become ready. They become active without
// nodes.
func (b builder) addonsBeforeNodes(control *controlPlane, roles *nodeRoles) ([]pulumi.Resource, error) {
	var made []pulumi.Resource
	for _, a := range []addon{
		{name: "kube-proxy", version: b.args.Addons.KubeProxy},
		// The agent gives the CNI its role.
		{name: "eks-pod-identity-agent", version: b.args.Addons.PodIdentityAgent},
		// Preserved on deletion, so that the CNI can release the nodes' addresses while the nodes are
		// deleted. The schema requires the string "true".
		{
			name: "vpc-cni", version: b.args.Addons.VPCCNI, configuration: `{"enableNetworkPolicy":"true"}`, preserve: true,
			serviceAccount: "aws-node", role: roles.cni,
		},
	} {
		a.after = []pulumi.Resource{control.component}
		if a.role != nil {
			a.after = append(a.after, roles.attachments...)
		}
		resource, err := b.addon(control, a)
		if err != nil {
			return nil, err
		}
		made = append(made, resource)
	}
	return made, nil
}

// addonsAfterNodes creates the add-ons that stay degraded until a node can run them.
func (b builder) addonsAfterNodes(control *controlPlane, system pulumi.Resource) (pulumi.Resource, error) {
	return b.addon(control, addon{
		name: "coredns", version: b.args.Addons.CoreDNS, after: []pulumi.Resource{system},
	})
}

func (b builder) addon(control *controlPlane, a addon) (*awseks.Addon, error) {
	args := &awseks.AddonArgs{
		AddonName:                pulumi.String(a.name),
		ClusterName:              control.name,
		ResolveConflictsOnCreate: pulumi.String(overwrite),
		ResolveConflictsOnUpdate: pulumi.String(overwrite),
	}
	if a.version != "" {
		args.AddonVersion = pulumi.String(a.version)
	}
	if a.configuration != "" {
		args.ConfigurationValues = pulumi.String(a.configuration)
	}
	if a.preserve {
		args.Preserve = pulumi.Bool(true)
	}
	if a.role != nil {
		args.PodIdentityAssociations = awseks.AddonPodIdentityAssociationArray{
			awseks.AddonPodIdentityAssociationArgs{
				RoleArn: a.role.Arn, ServiceAccount: pulumi.String(a.serviceAccount),
			},
		}
	}
	made, err := awseks.NewAddon(b.ctx, a.name, args, b.parent, pulumi.DependsOn(a.after))
	if err != nil {
		return nil, fmt.Errorf("creating add-on %q: %w", a.name, err)
	}
	return made, nil
}
