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

// adminPolicy makes a principal a cluster administrator.
const adminPolicy = "eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

// controlPlane is the EKS control plane.
type controlPlane struct {
	component       *eks.Cluster
	name            pulumi.StringOutput
	securityGroupID pulumi.StringOutput
	kubeconfig      pulumi.StringOutput
}

// logTypes are all logs that a control plane can write.
func logTypes() pulumi.StringArray {
	return pulumi.ToStringArray([]string{"api", "audit", "authenticator", "controllerManager", "scheduler"})
}

// controlPlane creates the control plane, and nothing else, with pulumi-eks: the nodes that it
// can make know no EFA.
func (b builder) controlPlane(role *iam.Role) (*controlPlane, error) {
	api := eks.AuthenticationModeApi
	yes := true
	args := &eks.ClusterArgs{
		Name:    pulumi.String(b.args.Name),
		Version: pulumi.String(b.args.KubernetesVersion),
		VpcId:   b.args.VPCID,
		// All of them private. Node groups name their subnet themselves.
		SubnetIds: b.args.ControlPlaneSubnetIDs,
		// Access entries, because the aws-auth ConfigMap can be lost, and the nodes with it.
		AuthenticationMode: &api,
		AccessEntries:      b.accessEntries(),
		// One role, ours: without it the component creates one that nothing uses.
		InstanceRole:         role,
		SkipDefaultNodeGroup: &yes,
		// The component's own CNI is of 2023 and goes in through kubectl; the add-on replaces it.
		UseDefaultVpcCni:       &yes,
		EncryptionConfigKeyArn: b.args.SecretsKeyARN.ToStringOutput().ToStringPtrOutput(),
		EnabledClusterLogTypes: logTypes(),
		EndpointPrivateAccess:  pulumi.Bool(true),
		EndpointPublicAccess:   pulumi.Bool(len(b.args.PublicAccessCIDRs) > 0),
	}
	if len(b.args.PublicAccessCIDRs) > 0 {
		args.PublicAccessCidrs = pulumi.ToStringArray(b.args.PublicAccessCIDRs.Strings())
	}
	// The role is passed as a resource, which alone is not a dependency of a remote component.
	component, err := eks.NewCluster(b.ctx, "eks", args, b.parent, pulumi.Providers(b.args.AWS),
		pulumi.DependsOn([]pulumi.Resource{role}))
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

// accessEntries are named by the last part of the ARN, so that their order never matters.
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

// arn completes an ARN of AWS's own with the partition of the region.
func (b builder) arn(rest string) pulumi.String {
	return pulumi.String("arn:" + b.args.Region.Partition() + ":" + rest)
}

func (b builder) kubeconfig(cluster awseks.ClusterOutput) pulumi.StringOutput {
	text := pulumi.All(cluster.Endpoint(), cluster.CertificateAuthority().Data().Elem()).ApplyT( //nolint:forcetypeassert // the type follows from the function's
		func(parts []any) (string, error) {
			endpoint, ok := parts[0].(string)
			if !ok {
				return "", fmt.Errorf("reading the endpoint of cluster %q: it is a %T", b.args.Name, parts[0])
			}
			caData, ok := parts[1].(string)
			if !ok {
				return "", fmt.Errorf("reading the certificate authority of cluster %q: it is a %T", b.args.Name, parts[1])
			}
			return Kubeconfig(endpoint, caData, b.args.Name, b.args.Region)
		}).(pulumi.StringOutput)
	secret, ok := pulumi.ToSecret(text).(pulumi.StringOutput)
	if !ok {
		return text
	}
	return secret
}

// kubernetesProvider is identified by the cluster's name, which is known in every preview: a
// changed or unknown kubeconfig would otherwise replace the provider and all of its resources.
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
