package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// nodeRole is the IAM role of the nodes with its policy attachments.
type nodeRole struct {
	role        *iam.Role
	attachments []pulumi.Resource
}

type policyDocument struct {
	Version   string            `json:"Version"`
	Statement []policyStatement `json:"Statement"`
}

type policyStatement struct {
	Effect    string          `json:"Effect"`
	Action    string          `json:"Action"`
	Principal policyPrincipal `json:"Principal"`
}

type policyPrincipal struct {
	Service string `json:"Service"`
}

// nodePolicies returns the policies that EKS requires for a node role.
// Source: EKS user guide, "Amazon EKS node IAM role".
func nodePolicies() []struct{ name, policy string } {
	return []struct{ name, policy string }{
		{"nodes-worker", "iam::aws:policy/AmazonEKSWorkerNodePolicy"},
		{"nodes-cni", "iam::aws:policy/AmazonEKS_CNI_Policy"},
		{"nodes-images", "iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"},
	}
}

func (b builder) nodeRole() (*nodeRole, error) {
	trust, err := json.Marshal(policyDocument{
		Version: "2012-10-17",
		Statement: []policyStatement{{
			Effect: "Allow", Action: "sts:AssumeRole", Principal: policyPrincipal{Service: "ec2.amazonaws.com"},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the trust policy of the nodes' role: %w", err)
	}
	role, err := iam.NewRole(b.ctx, "nodes", &iam.RoleArgs{
		Description:      pulumi.String("Nodes of " + b.args.Name),
		AssumeRolePolicy: pulumi.String(string(trust)),
	}, b.parent)
	if err != nil {
		return nil, fmt.Errorf("creating the nodes' role: %w", err)
	}
	made := &nodeRole{role: role}
	for _, p := range nodePolicies() {
		attachment, err := iam.NewRolePolicyAttachment(b.ctx, p.name, &iam.RolePolicyAttachmentArgs{
			Role: role.Name, PolicyArn: b.arn(p.policy),
		}, b.parent)
		if err != nil {
			return nil, fmt.Errorf("attaching %q to the nodes' role: %w", p.policy, err)
		}
		made.attachments = append(made.attachments, attachment)
	}
	return made, nil
}
