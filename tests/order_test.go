package tests

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// outlives returns the resources that must exist as long as made: its dependencies and those of its
// parents and its provider. That is the engine's rule for the order of a destroy.
func outlives(r run, made registration) map[string]bool {
	known := map[string]registration{}
	for _, one := range r.all() {
		known[one.urn] = one
	}
	needed := map[string]bool{}
	var visit func(registration)
	visit = func(one registration) {
		next := append([]string{one.parent, providerURN(one.provider)}, one.dependencies...)
		for _, provider := range one.providers {
			next = append(next, providerURN(provider))
		}
		for _, urn := range next {
			if other, ok := known[urn]; ok && !needed[urn] {
				needed[urn] = true
				visit(other)
			}
		}
	}
	visit(made)
	return needed
}

// providerURN takes the id off a provider reference.
func providerURN(reference string) string {
	for i := len(reference) - 2; i > 0; i-- {
		if reference[i:i+2] == "::" {
			return reference[:i]
		}
	}
	return ""
}

type resourceName struct{ typ, name string }

func TestDestroyTakesThingsApartInOrder(t *testing.T) {
	t.Parallel()
	gate := resourceName{trainingJob, "gate"}
	ray := resourceName{rayCluster, "train"}
	operator := resourceName{release, "kuberay-operator"}
	nvidia := resourceName{release, "nvidia-device-plugin"}
	efa := resourceName{release, "aws-efa-k8s-device-plugin"}
	coredns := resourceName{addon, "coredns"}
	gpu, system := resourceName{nodeGroup, "gpu"}, resourceName{nodeGroup, "system"}
	cni, proxy := resourceName{addon, "vpc-cni"}, resourceName{addon, "kube-proxy"}
	control := resourceName{"eks:index:Cluster", "eks"}
	logs := resourceName{"aws:cloudwatch/logGroup:LogGroup", "control-plane"}
	tests := []struct {
		name         string
		first, later []resourceName
	}{
		{"the job is deleted before everything that it uses", []resourceName{gate}, []resourceName{ray, operator, nvidia, efa, gpu, coredns, control}},
		{"the RayCluster, while its operator can remove its pods", []resourceName{ray}, []resourceName{operator, nvidia, efa, gpu, system}},
		{"the RayCluster, while its namespace is closed", []resourceName{ray}, []resourceName{
			{"kubernetes:networking.k8s.io/v1:NetworkPolicy", "default-deny-ingress"},
			{"kubernetes:networking.k8s.io/v1:NetworkPolicy", "ray-cluster-internal"},
			{"kubernetes:core/v1:Namespace", "ray"},
		}},
		{"releases, while names resolve and nodes run", []resourceName{operator, nvidia, efa}, []resourceName{coredns, gpu, system}},
		{"CoreDNS, while it has nodes", []resourceName{coredns}, []resourceName{system}},
		{"nodes, while the CNI can release their addresses", []resourceName{gpu, system}, []resourceName{
			cni, proxy, {addon, "eks-pod-identity-agent"},
			{"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-cni"},
			{"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-worker"},
			{"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-images"},
		}},
		{"nodes, while they have a way out and their groups", []resourceName{gpu, system}, []resourceName{
			{"aws:ec2/natGateway:NatGateway", "nat"}, {"aws:ec2/route:Route", "private-nat"},
			{"aws:ec2/routeTableAssociation:RouteTableAssociation", "nodes"},
			{"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "efa-self"},
			{"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "efa-self"},
			{"aws:ec2/placementGroup:PlacementGroup", "gpu"},
		}},
		{"CNI and proxy, while there is a control plane", []resourceName{cni, proxy}, []resourceName{control}},
		{"the control plane, while there is a group for its last logs", []resourceName{control}, []resourceName{
			logs, {"aws:kms/key:Key", "secrets"}, {"aws:iam/role:Role", "nodes"},
		}},
		{"the NAT gateway, while there is an internet gateway", []resourceName{{"aws:ec2/natGateway:NatGateway", "nat"}}, []resourceName{
			{"aws:ec2/internetGateway:InternetGateway", "internet"}, {"aws:ec2/eip:Eip", "nat"},
		}},
		{"all of it, while there is a VPC", []resourceName{gate, control, {"aws:ec2/natGateway:NatGateway", "nat"}}, []resourceName{
			{"aws:ec2/vpc:Vpc", "vpc"},
		}},
	}
	r := green(t, options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, first := range test.first {
				needed := outlives(r, r.one(t, first.typ, first.name))
				for _, later := range test.later {
					made := r.one(t, later.typ, later.name)
					assert.True(t, needed[made.urn], "%s %q would not wait for %s %q", later.typ, later.name, first.typ, first.name)
					assert.False(t, outlives(r, made)[r.one(t, first.typ, first.name).urn], "a circle")
				}
			}
		})
	}
}

func TestUpWaitsForWhatItNeeds(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	// Named, not only implied by a parent: these decide whether a node comes up at all.
	gpu := r.one(t, nodeGroup, "gpu")
	for _, before := range []resourceName{
		{addon, "vpc-cni"}, {addon, "kube-proxy"}, {"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-cni"},
	} {
		assert.Contains(t, gpu.dependencies, r.one(t, before.typ, before.name).urn, before.name)
	}
	assert.Contains(t, r.one(t, addon, "coredns").dependencies, r.one(t, nodeGroup, "system").urn,
		"without nodes the add-on stays degraded until it times out")
	ray := r.one(t, rayCluster, "train")
	for _, made := range append(r.ofType(release), r.ofType("kubernetes:networking.k8s.io/v1:NetworkPolicy")...) {
		assert.Contains(t, ray.dependencies, made.urn)
	}
}
