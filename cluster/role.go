package cluster

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/iampolicy"
)

// nodeRoles are the IAM roles of the nodes and of the CNI.
type nodeRoles struct {
	nodes *iam.Role
	cni   *iam.Role
	// attachments are the policies of both. Nodes need them until they are deleted.
	attachments []pulumi.Resource
}

// cniPolicy lets the CNI attach network interfaces to every instance of the account. The nodes' role
// does not have it: all pods of the host network can use that role.
const cniPolicy = "iam::aws:policy/AmazonEKS_CNI_Policy"

// nodePolicies returns the policies that EKS requires for a node role, next to the CNI's.
// Source: EKS user guide, "Amazon EKS node IAM role".
func nodePolicies() []struct{ name, policy string } {
	return []struct{ name, policy string }{
		{"nodes-worker", "iam::aws:policy/AmazonEKSWorkerNodePolicy"},
		// It also allows a pull-through cache of another registry.
		{"nodes-images", "iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"},
	}
}

// nodeRoles creates the roles. The CNI gets its role through EKS Pod Identity.
// Source: EKS user guide, "Attach an IAM role to an Amazon EKS add-on using Pod Identity".
func (b builder) nodeRoles() (*nodeRoles, error) {
	var made nodeRoles
	var err error
	made.nodes, err = b.role("nodes", "Nodes of "+b.args.Name, "ec2."+b.args.Region.Domain(), "sts:AssumeRole")
	if err != nil {
		return nil, err
	}
	made.cni, err = b.role("nodes-cni", "CNI of "+b.args.Name, podIdentity, "sts:AssumeRole", "sts:TagSession")
	if err != nil {
		return nil, err
	}
	for _, p := range nodePolicies() {
		if err := made.attach(b, made.nodes, p.name, p.policy); err != nil {
			return nil, err
		}
	}
	return &made, made.attach(b, made.cni, "nodes-cni", cniPolicy)
}

// podIdentity is the service that assumes the roles of pods.
const podIdentity = "pods.eks.amazonaws.com"

func (b builder) role(name, description, service string, actions ...string) (*iam.Role, error) {
	trust, err := iampolicy.Trust(service, actions...)
	if err != nil {
		return nil, err
	}
	role, err := iam.NewRole(b.ctx, name, &iam.RoleArgs{
		Description: pulumi.String(description), AssumeRolePolicy: pulumi.String(trust),
	}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating role %q: %w", name, err)
	}
	return role, nil
}

func (r *nodeRoles) attach(b builder, role *iam.Role, name, policy string) error {
	attachment, err := iam.NewRolePolicyAttachment(b.ctx, name, &iam.RolePolicyAttachmentArgs{
		Role: role.Name, PolicyArn: b.arn(policy),
	}, b.parent)
	if err != nil {
		return fmt.Errorf("attaching %q to a role: %w", policy, err)
	}
	r.attachments = append(r.attachments, attachment)
	return nil
}
