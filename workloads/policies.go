package workloads

import (
	"fmt"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The labels that KubeRay puts on every pod of a RayCluster.
const (
	rayClusterLabel  = "ray.io/cluster"
	rayNodeTypeLabel = "ray.io/node-type"
)

// policies allow ingress to the namespace only from pods of the Ray cluster. Egress is open,
// because jobs load models and data. The dashboard is reached by port-forward, which network
// policies do not affect. All ports are open between the pods, because NCCL's bootstrap uses random
// ports.
func (b builder) policies() ([]pulumi.Resource, error) {
	ingress := pulumi.StringArray{pulumi.String("Ingress")}
	deny, err := networkingv1.NewNetworkPolicy(b.ctx, "default-deny-ingress", &networkingv1.NetworkPolicyArgs{
		Metadata: b.metadata("default-deny-ingress"),
		Spec: networkingv1.NetworkPolicySpecArgs{
			PodSelector: metav1.LabelSelectorArgs{},
			PolicyTypes: ingress,
		},
	}, b.options...)
	if err != nil {
		return nil, fmt.Errorf("creating network policy \"default-deny-ingress\" in namespace %q: %w", b.args.Ray.Namespace, err)
	}
	members := metav1.LabelSelectorArgs{MatchLabels: pulumi.StringMap{rayClusterLabel: pulumi.String(RayClusterName)}}
	allow, err := networkingv1.NewNetworkPolicy(b.ctx, "ray-cluster-internal", &networkingv1.NetworkPolicyArgs{
		Metadata: b.metadata("ray-cluster-internal"),
		Spec: networkingv1.NetworkPolicySpecArgs{
			PodSelector: members,
			PolicyTypes: ingress,
			Ingress: networkingv1.NetworkPolicyIngressRuleArray{networkingv1.NetworkPolicyIngressRuleArgs{
				From: networkingv1.NetworkPolicyPeerArray{networkingv1.NetworkPolicyPeerArgs{PodSelector: members}},
			}},
		},
	}, b.options...)
	if err != nil {
		return nil, fmt.Errorf("creating network policy \"ray-cluster-internal\" in namespace %q: %w", b.args.Ray.Namespace, err)
	}
	return []pulumi.Resource{deny, allow}, nil
}

func (b builder) metadata(name string) metav1.ObjectMetaArgs {
	return metav1.ObjectMetaArgs{Name: pulumi.String(name), Namespace: b.namespace}
}
