package cluster

import (
	"fmt"
	"strings"

	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-eks/sdk/v2/go/eks"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// adminPolicy is the access policy of cluster administrators.
const adminPolicy = "eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

// controlPlane is the EKS control plane.
type controlPlane struct {
	component       *eks.Cluster
	name            pulumi.StringOutput
	securityGroupID pulumi.StringOutput
	kubeconfig      pulumi.StringOutput
}

// logTypes returns all log types of a control plane.
func logTypes() pulumi.StringArray {
	return pulumi.ToStringArray([]string{"api", "audit", "authenticator", "controllerManager", "scheduler"})
}

// controlPlane creates only the control plane with pulumi-eks, whose node groups do not support
// EFA.
func (b builder) controlPlane(role *iam.Role) (*controlPlane, error) {
	api := eks.AuthenticationModeApi
	yes := true
	args := &eks.ClusterArgs{
		Name:    pulumi.String(b.args.Name),
		Version: pulumi.String(b.args.KubernetesVersion),
		VpcId:   b.args.VPCID,
		// All are private. Node groups set their own subnet.
		SubnetIds: b.args.ControlPlaneSubnetIDs,
		// Access entries, because losing the aws-auth ConfigMap would lock out the nodes.
		AuthenticationMode: &api,
		AccessEntries:      b.accessEntries(),
		// Without a role the component creates one that is never used.
		InstanceRole:         role,
		SkipDefaultNodeGroup: &yes,
		// The component would install a CNI of 2023 with kubectl. The vpc-cni add-on is used instead.
		UseDefaultVpcCni:       &yes,
		EncryptionConfigKeyArn: b.args.SecretsKeyARN.ToStringOutput().ToStringPtrOutput(),
		EnabledClusterLogTypes: logTypes(),
		EndpointPrivateAccess:  pulumi.Bool(true),
		EndpointPublicAccess:   pulumi.Bool(len(b.args.PublicAccessCIDRs) > 0),
	}
	if len(b.args.PublicAccessCIDRs) > 0 {
		args.PublicAccessCidrs = pulumi.ToStringArray(b.args.PublicAccessCIDRs.Strings())
	}
	// Passing the role as a resource does not make a remote component depend on it.
	component, err := eks.NewCluster(b.ctx, "eks", args, b.parent, pulumi.Providers(b.args.AWS),
		pulumi.DependsOn([]pulumi.Resource{role}), pulumi.Protect(b.args.Protect))
	if err != nil {
		return nil, fmt.Errorf("creating the control plane %q: %w", b.args.Name, err)
	}
	c := &controlPlane{
		component:       component,
		name:            component.EksCluster.Name(),
		securityGroupID: component.EksCluster.VpcConfig().ClusterSecurityGroupId().Elem(),
	}
	c.kubeconfig = b.kubeconfig(component.EksCluster)
	return c, nil
}

// accessEntries returns the access entries, keyed by the last part of the ARN so that their order
// does not matter.
func (b builder) accessEntries() map[string]eks.AccessEntryArgs {
	entries := map[string]eks.AccessEntryArgs{}
	for _, arn := range b.args.AdminPrincipalARNs {
		name := arn[strings.LastIndexByte(arn, ':')+1:]
		entries[strings.ReplaceAll(name, "/", "-")] = eks.AccessEntryArgs{
			PrincipalArn: pulumi.String(arn),
			AccessPolicies: map[string]eks.AccessPolicyAssociationInput{
				"admin": eks.AccessPolicyAssociationArgs{
					PolicyArn:   b.arn(adminPolicy),
					AccessScope: awseks.AccessPolicyAssociationAccessScopeArgs{Type: pulumi.String("cluster")},
				},
			},
		}
	}
	return entries
}

// arn returns the ARN of an AWS managed policy in the region's partition.
func (b builder) arn(rest string) pulumi.String {
	return pulumi.String("arn:" + b.args.Region.Partition() + ":" + rest)
}

func (b builder) kubeconfig(cluster awseks.ClusterOutput) pulumi.StringOutput {
	text := pulumi.All(cluster.Endpoint(), cluster.CertificateAuthority().Data().Elem()).ApplyT( //nolint:forcetypeassert // the type follows from the function's
		func(parts []any) (string, error) {
			endpoint, ok := parts[0].(string)
			if !ok {
				return "", fmt.Errorf("reading the endpoint of cluster %q: unexpected type %T", b.args.Name, parts[0])
			}
			caData, ok := parts[1].(string)
			if !ok {
				return "", fmt.Errorf("reading the certificate authority of cluster %q: unexpected type %T", b.args.Name, parts[1])
			}
			return Kubeconfig(endpoint, caData, b.args.Name, b.args.Region)
		}).(pulumi.StringOutput)
	secret, ok := pulumi.ToSecret(text).(pulumi.StringOutput)
	if !ok {
		return text
	}
	return secret
}

// kubernetesProvider returns the Kubernetes provider. Its identifier is the cluster's name, which
// is always known: otherwise a changed kubeconfig would replace the provider and all its resources.
func (b builder) kubernetesProvider(control *controlPlane) (*kubernetes.Provider, error) {
	provider, err := kubernetes.NewProvider(b.ctx, "kubernetes", &kubernetes.ProviderArgs{
		Kubeconfig:        control.kubeconfig,
		ClusterIdentifier: pulumi.String(b.args.Name),
	}, b.parent, pulumi.DependsOn([]pulumi.Resource{control.component}))
	if err != nil {
		return nil, fmt.Errorf("creating the Kubernetes provider of %q: %w", b.args.Name, err)
	}
	return provider, nil
}
