package cluster

import (
	"regexp"
	"strings"
)

// reason is what stands behind one of AWS's messages.
type reason struct {
	// says is a part of the message.
	says string
	// cause is in our words.
	cause string
	// next mends it or shows more; REGION, CLUSTER and GROUP stand for the node group's.
	next string
}

const describeGroup = "aws eks describe-nodegroup --region REGION --cluster-name CLUSTER --nodegroup-name GROUP --query nodegroup."

// reasons are tried in order; the first whose text occurs explains the failure.
// Sources: EKS API, Issue; EC2 user guide, "Placement groups" and "Troubleshoot instance launch issues".
func reasons() []reason {
	return []reason{
		{
			"placement group can't span",
			"the node group's subnets lie in several zones; a cluster placement group, like EFA's traffic, stays within one",
			describeGroup + "subnets; leave it one subnet, then pulumi up",
		},
		{
			"InsufficientInstanceCapacity",
			"AWS has no machine of this type free in the zone now, which no quota changes",
			"pulumi up later, or pulumi config set availabilityZone ZONE and pulumi up; zones that offer the type: " +
				"aws ec2 describe-instance-type-offerings --region REGION --location-type availability-zone",
		},
		{
			"VcpuLimitExceeded",
			"the account's quota of vCPUs is used up, perhaps by other instances",
			"aws service-quotas list-service-quotas --region REGION --service-code ec2; stop what is not needed or ask for more, then pulumi up",
		},
		{
			"failed to join",
			"the instances boot and never reach the API server: their interfaces lack the cluster's security group, their subnet lacks its " +
				"route to the NAT gateway, or the node role its access entry",
			"aws ec2 describe-instances --region REGION --filters Name=tag:eks:cluster-name,Values=CLUSTER " +
				"--query 'Reservations[].Instances[].NetworkInterfaces[].Groups'; the cluster's group must be among them; mend it, then pulumi up",
		},
		{
			"Unhealthy nodes",
			"the nodes registered and stay NotReady, mostly for want of their network: the vpc-cni add-on, or its policy on the node role",
			"kubectl -n kube-system get pods -l k8s-app=aws-node",
		},
	}
}

// named finds cluster and node group in the message of the AWS provider.
var named = regexp.MustCompile(`EKS Node Group \(([^:()]+):([^()]+)\)`)

// ExplainFailure names what AWS's message about a node group leaves out: the cause, and the next command. ok is false when
// the message is about something else.
func ExplainFailure(text, region string) (cause, next string, ok bool) {
	names := named.FindStringSubmatch(text)
	if names == nil {
		return "", "", false
	}
	found := reason{cause: "AWS did not bring the node group up", next: describeGroup + "health"}
	for _, r := range reasons() {
		if strings.Contains(text, r.says) {
			found = r
			break
		}
	}
	return found.cause, strings.NewReplacer("REGION", region, "CLUSTER", names[1], "GROUP", names[2]).Replace(found.next), true
}
