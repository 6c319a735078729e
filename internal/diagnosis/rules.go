package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
)

// rule explains one kind of failure.
type rule struct {
	code string
	// says holds texts of which one must be in the error, at the beginning of a word: AWS's codes contain each other, as
	// PrivateIpAddressLimitExceeded does AddressLimitExceeded. One that begins with * may end a longer code. None means any error.
	says []string
	// types limits the rule to resources whose type begins with one of these; none means any type.
	types   []string
	explain func(f Failure, s Stack) (cause, next string)
}

func (r rule) fits(f Failure) bool {
	within := func(list []string, match func(string) bool) bool {
		return len(list) == 0 || slices.ContainsFunc(list, match)
	}
	return within(r.says, func(text string) bool { return says(f.Error, text) }) &&
		within(r.types, func(prefix string) bool { return strings.HasPrefix(f.Type, prefix) })
}

// says finds a text that begins a word, or with * anywhere.
func says(message, text string) bool {
	if ending, ok := strings.CutPrefix(text, "*"); ok {
		return strings.Contains(message, ending)
	}
	for from := 0; ; from++ {
		at := strings.Index(message[from:], text)
		if at < 0 {
			return false
		}
		from += at
		before, _ := utf8.DecodeLastRuneInString(message[:from])
		if from == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
	}
}

// The types that some rules are for.
const (
	nodeGroupType  = "aws:eks/nodeGroup:"
	addonType      = "aws:eks/addon:"
	logGroupType   = "aws:cloudwatch/logGroup:"
	kubernetesType = "kubernetes:"
	releaseType    = "kubernetes:helm.sh/v3:"
)

// rules lists every rule; the first that fits explains. Codes of AWS come before what wraps them: a node group's failure
// quotes the instance's. A code that contains another comes before it: RequestLimitExceeded is no quota.
//
// Sources of the codes: EC2 API reference, "Error codes"; EKS API reference, Issue (node group health) and CreateCluster;
// Service Quotas for the quotas' codes; pulumi-kubernetes's helm release and await packages for Helm's and Kubernetes's words.
func rules() []rule {
	return slices.Concat(pace(), limits(), access(), nodes(), leftovers(), kubernetes(), rest())
}

// pace is how fast AWS answers. Source of the codes: aws-sdk-go-v2, aws/retry, DefaultThrottleErrorCodes, without
// LimitExceededException, by which IAM, KMS and CloudWatch Logs mean a quota.
func pace() []rule {
	return []rule{{
		code: "throttled",
		says: []string{
			"Throttling", "ThrottledException", "EC2ThrottledException", "RequestThrottled", "RequestLimitExceeded", "BandwidthLimitExceeded",
			"TooManyRequests", "SlowDown",
		},
		explain: fixed("AWS answers this account's requests no faster: something else asks a lot", "pulumi up"),
	}}
}

// limits are those of the account and of AWS's stock of machines.
func limits() []rule {
	return []rule{
		{
			code:    "no-capacity",
			says:    []string{"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity", "do not have sufficient"},
			explain: noCapacity,
		},
		{
			code:    "vcpu-quota",
			says:    []string{"VcpuLimitExceeded", "InstanceLimitExceeded"},
			explain: vcpuQuota,
		},
		{
			code: "address-quota",
			says: []string{"AddressLimitExceeded"},
			explain: fixed("the account has as many Elastic IP addresses in this region as it may (quota L-0263D0A3)",
				"aws ec2 describe-addresses --region {region} (release one that nothing uses), then pulumi up"),
		},
		{
			code: "vpc-quota",
			says: []string{"VpcLimitExceeded"},
			explain: fixed("the account has as many VPCs in this region as it may (quota L-F678F1CE of service vpc)",
				"aws service-quotas request-service-quota-increase --service-code vpc --quota-code L-F678F1CE --desired-value 10 --region {region}"),
		},
		{
			code: "resource-quota",
			// The ends of many codes: NetworkInterfaceLimitExceeded, ServiceQuotaExceededException.
			says: []string{"*LimitExceeded", "*QuotaExceeded"},
			explain: fixed("the account has as many resources of this kind as it may",
				"aws service-quotas list-service-quotas --service-code ec2 --region {region} (or eks, iam, kms), ask for more, then pulumi up"),
		},
	}
}

// access is about who may do what.
func access() []rule {
	return []rule{
		{
			code: "credentials-expired",
			says: []string{"ExpiredToken", "RequestExpired", "is expired", "NoCredentialProviders", "no valid credential sources", "InvalidClientTokenId"},
			explain: fixed("the AWS credentials ran out while the update ran, or there are none",
				"aws sts get-caller-identity; renew them for an hour or more (aws sso login), then pulumi up"),
		},
		{
			code: "access-denied",
			says: []string{"UnauthorizedOperation", "AccessDenied", "not authorized to perform"},
			explain: fixed("the AWS identity may not do this, or an organisation's policy forbids it",
				"aws sts get-caller-identity; give that identity the action that the evidence names, then pulumi up"),
		},
	}
}

// describeGroup asks EKS about the node group that failed; what to show of it follows.
const describeGroup = "aws eks describe-nodegroup --region {region} --cluster-name {cluster} --nodegroup-name {group} --query nodegroup."

// nodes are a node group's own troubles.
func nodes() []rule {
	return []rule{
		{
			code: "zone-unsupported",
			says: []string{"UnsupportedAvailabilityZone"},
			explain: func(_ Failure, s Stack) (string, string) {
				return "EKS has no control planes in one of the zones", anotherZone(s)
			},
		},
		{
			code:  "zones-spanned",
			says:  []string{"placement group can't span"},
			types: []string{nodeGroupType},
			explain: fixed("the node group's subnets lie in several zones; a cluster placement group, like EFA's traffic, stays within one",
				describeGroup+"subnets; leave it one subnet, then pulumi up"),
		},
		{
			code:  "nodes-not-joined",
			says:  []string{"failed to join"},
			types: []string{nodeGroupType},
			explain: fixed("the instances boot and never reach the API server: their interfaces lack the cluster's security group, their subnet lacks its "+
				"route to the NAT gateway, or the node role its access entry",
				"aws ec2 describe-instances --region {region} --filters Name=tag:eks:cluster-name,Values={cluster} "+
					"--query 'Reservations[].Instances[].NetworkInterfaces[].Groups'; the cluster's group must be among them; mend it, then pulumi up"),
		},
		{
			code:  "nodes-unhealthy",
			says:  []string{"Unhealthy nodes", "NodeCreationFailure"},
			types: []string{nodeGroupType},
			explain: fixed("the nodes registered and stay NotReady, mostly for want of their network: the vpc-cni add-on, or its policy on the node role",
				"kubectl -n kube-system get pods -l k8s-app=aws-node"),
		},
		{
			code:    "node-group-failed",
			says:    []string{"CREATE_FAILED", "AsgInstanceLaunchFailures", "unexpected state"},
			types:   []string{nodeGroupType},
			explain: fixed("EKS did not bring the node group up", describeGroup+"health"),
		},
		{
			code:  "addon-degraded",
			says:  []string{"DEGRADED", "timeout", "unexpected state", "CREATE_FAILED"},
			types: []string{addonType},
			explain: fixed("the add-on's pods do not run: no node takes them, or their image cannot be pulled",
				"kubectl -n kube-system get pods -o wide; aws eks describe-addon --cluster-name {cluster} --region {region} --addon-name {name}"),
		},
	}
}

// leftovers are things in the way, and things still in use.
func leftovers() []rule {
	return []rule{
		{
			code: "still-used",
			says: []string{"DependencyViolation", "ResourceInUseException: Cluster has", "is currently in use"},
			explain: fixed("something that this stack did not make, or a network interface that the CNI leaked, still uses it",
				"aws ec2 describe-network-interfaces --region {region} --filters Name=tag-key,Values=eks:kubernetes-cni-node-name; delete those, then run the same command again"),
		},
		{
			// Sources: https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2446 and /2763: EKS's service-linked role makes the
			// group anew for lines that arrive after it was deleted.
			code:  "log-group-left",
			says:  []string{"ResourceAlreadyExistsException"},
			types: []string{logGroupType},
			explain: fixed("the control plane's log group exists: EKS delivers its last lines late, which made it again after an earlier destroy",
				"aws logs delete-log-group --log-group-name /aws/eks/{cluster}/cluster --region {region}, then pulumi up (or keep its lines: pulumi import)"),
		},
		{
			code: "name-taken",
			says: []string{"ResourceInUseException", "*AlreadyExists", "already exists"},
			explain: fixed("something of this name exists already and this stack did not make it",
				"pulumi config set clusterName OTHER-NAME, or delete what is there; then pulumi up"),
		},
	}
}

// kubernetes is what Helm and the Kubernetes provider wait for in vain.
func kubernetes() []rule {
	return []rule{
		{
			code: "unschedulable",
			says: []string{"nodes are available", "Unschedulable", "unschedulable", "FailedScheduling", "Insufficient cpu", "Insufficient memory"},
			explain: fixed("no node takes the pod: too little CPU or memory left, or labels and taints that do not match",
				"kubectl get pods -A --field-selector status.phase=Pending; kubectl get events -A --field-selector reason=FailedScheduling"),
			types: []string{kubernetesType},
		},
		{
			code:  "image-not-pulled",
			says:  []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName"},
			types: []string{kubernetesType},
			explain: fixed("an image cannot be pulled: its name, its registry, or the nodes' way out",
				"kubectl get events -A --field-selector reason=Failed"),
		},
		{
			code:  "chart-not-found",
			says:  []string{"looking up repository", "failed to fetch", "chart not found", "not a valid chart repository", "no such host", "failed to download"},
			types: []string{releaseType},
			explain: fixed("the chart's repository does not answer, or has no such version",
				"pulumi config get --path charts; helm show chart with that repository and version; then pulumi up"),
		},
		{
			code:  "release-timeout",
			says:  []string{"timed out", "deadline exceeded", "allocated timeout", "failed status", "failed to initialize"},
			types: []string{releaseType},
			explain: fixed("the chart's pods did not become ready in time (setting charts.timeoutSeconds)",
				"kubectl get pods -A -o wide; kubectl get events -A --sort-by .lastTimestamp; helm status {name} -n NAMESPACE"),
		},
		{
			code:  "cluster-unreachable",
			says:  []string{"connection refused", "i/o timeout", "no such host", "unreachable", "asked for the client to provide credentials", "Unauthorized"},
			types: []string{kubernetesType},
			explain: fixed("the cluster's API server does not answer this machine: its address is not in publicAccessCidrs, or its credentials are not accepted",
				"aws eks describe-cluster --name {cluster} --region {region} --query cluster.resourcesVpcConfig; curl -s https://checkip.amazonaws.com"),
		},
		{
			code:  "kubernetes-timeout",
			says:  []string{"timed out", "deadline exceeded", "Timeout"},
			types: []string{kubernetesType},
			explain: fixed("the object was made and did not become ready in time",
				"kubectl get pods -A -o wide; kubectl get events -A --sort-by .lastTimestamp"),
		},
	}
}

// rest is every other failure.
func rest() []rule {
	return []rule{{
		code: "resource-failed",
		explain: fixed("the provider refused it for the reason in the evidence",
			"mend that, then pulumi up; or pulumi destroy, which takes down what was made"),
	}}
}

// groupID finds a node group's own name, which EKS makes, in the AWS provider's words.
var groupID = regexp.MustCompile(`EKS Node Group \([^:()]+:([^()]+)\)`)

// fixed is an explanation with {region}, {cluster}, {name} and {group} filled in.
func fixed(cause, next string) func(Failure, Stack) (string, string) {
	return func(f Failure, s Stack) (string, string) {
		group := "GROUP"
		if match := groupID.FindStringSubmatch(f.Error); match != nil {
			group = match[1]
		}
		fill := strings.NewReplacer("{region}", s.Region, "{cluster}", s.ClusterName, "{name}", f.Name, "{group}", group)
		return fill.Replace(cause), fill.Replace(next)
	}
}

func noCapacity(f Failure, s Stack) (cause, next string) {
	instances := "machines"
	if group, ok := s.Groups[f.Name]; ok {
		instances = fmt.Sprintf("%d x %s", group.Nodes, group.InstanceType)
	}
	return fmt.Sprintf("AWS has no %s left in %s just now; the quota is not the reason", instances, s.Zone), anotherZone(s)
}

// anotherZone moves the stack, which takes its nodes' subnet with it. A stack that cannot move can only wait.
func anotherZone(s Stack) string {
	if len(s.OtherZones) == 0 {
		return "pulumi up later: no other zone of " + s.Region + " offers these types; pulumi destroy meanwhile, so that nothing bills"
	}
	return fmt.Sprintf("pulumi destroy && pulumi config set availabilityZone %s && pulumi up (or pulumi up again later, in %s)", s.OtherZones[0], s.Zone)
}

func vcpuQuota(f Failure, s Stack) (cause, next string) {
	group, ok := s.Groups[f.Name]
	if !ok || group.QuotaCode == "" {
		return "the account's vCPU quota does not allow these instances",
			"aws service-quotas list-service-quotas --service-code ec2 --region " + s.Region
	}
	return fmt.Sprintf("%d x %s need %d vCPU of quota %s, and the account's other instances leave less",
			group.Nodes, group.InstanceType, group.VCPUs, group.QuotaCode),
		capacity.IncreaseCommand(group.QuotaCode, 2*group.VCPUs, s.Region)
}
