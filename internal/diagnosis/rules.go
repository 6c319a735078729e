package diagnosis

import "slices"

// Resource types in the rules.
const (
	nodeGroupType  = "aws:eks/nodeGroup:"
	addonType      = "aws:eks/addon:"
	logGroupType   = "aws:cloudwatch/logGroup:"
	kubernetesType = "kubernetes:"
	releaseType    = "kubernetes:helm.sh/v3:"
)

// deletion is the operation of a failed delete.
const deletion = "delete"

// creation returns the operations that wait until a resource is ready.
func creation() []string { return []string{"create", "update"} }

// rules returns all rules in order of precedence. AWS error codes come before general words,
// because the error of a node group quotes that of its instances. A code that contains another one
// comes first: RequestLimitExceeded is not a quota.
//
// Sources of the codes: EC2 API reference, "Error codes"; EKS API reference, Issue (node group
// health) and CreateCluster; Service Quotas for the codes of quotas; pulumi-kubernetes's helm
// release and await packages for the words of Helm and Kubernetes.
func rules() []rule {
	return slices.Concat(
		interruption(), throttling(), limits(), access(), nodes(), leftovers(), kubernetes(),
		otherFailures())
}

// interruption returns the rule for an update that the user interrupted while a resource was awaited.
// It comes first: Helm adds to it that the pods did not become ready in time.
func interruption() []rule {
	return []rule{{
		code:    "interrupted",
		says:    []string{"context canceled", "update canceled"},
		explain: interrupted,
	}}
}

// throttling returns the rules for the rate of requests. Source of the codes: aws-sdk-go-v2,
// aws/retry, DefaultThrottleErrorCodes, without LimitExceededException, which IAM, KMS and
// CloudWatch Logs use for quotas.
func throttling() []rule {
	return []rule{{
		code: "throttled",
		says: []string{
			"Throttling", "ThrottledException", "EC2ThrottledException", "RequestThrottled",
			"RequestLimitExceeded", "BandwidthLimitExceeded", "TooManyRequests", "SlowDown",
		},
		explain: fixed("AWS throttles the API requests of this account, because it sends too many",
			"wait a minute, then {again}"),
	}}
}

// limits returns the rules for quotas of the account and the capacity of AWS.
func limits() []rule {
	return []rule{
		{
			code: "reservation-unusable",
			says: []string{
				"ReservationCapacityExceeded", "in the capacity reservation", "InvalidCapacityReservationId",
				"InvalidCapacityReservationState",
			},
			explain: fixed("the capacity reservation has no free instances of this type in this zone and placement group, "+
				"or does not exist (any more)",
				"aws ec2 describe-capacity-reservations --region {region}; compare type, zone, state and placement "+
					"group with gpu.instanceType, availabilityZone and gpu.placement"),
		},
		{
			code: "no-capacity",
			says: []string{
				"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
				"do not have sufficient",
			},
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
			explain: fixed(
				"the account has reached its quota of Elastic IP addresses in this region (L-0263D0A3)",
				"aws ec2 describe-addresses --region {region} (release one that is not in use), "+
					"then pulumi up"),
		},
		{
			code: "vpc-quota",
			says: []string{"VpcLimitExceeded"},
			explain: fixed(
				"the account has reached its quota of VPCs in this region (L-F678F1CE of service vpc)",
				"pulumi preview (prints the command with what the account uses besides), or delete a VPC "+
					"that is not in use, then pulumi up"),
		},
		{
			// Sources: EC2 API reference, "Error codes"; terraform-aws-modules/terraform-aws-eks#2149.
			code: "account-restricted",
			says: []string{
				"PendingVerification", "currently being verified", "maximum Fleet Requests", "OptInRequired",
				"account is currently blocked",
			},
			explain: fixed("AWS restricts this account, usually a new one, until it is verified; "+
				"the stack is not the reason",
				"pulumi up again in four hours (pulumi destroy stops the cost until then); "+
					"after a day: https://support.console.aws.amazon.com"),
		},
		{
			code: "resource-quota",
			// The ends of many codes: NetworkInterfaceLimitExceeded, ServiceQuotaExceededException.
			says: []string{"*LimitExceeded", "*QuotaExceeded"},
			explain: fixed("the account has reached its quota for this resource type",
				"aws service-quotas list-service-quotas --service-code ec2 --region {region} "+
					"(or eks, iam, kms), request an increase, then pulumi up"),
		},
	}
}

// access returns the rules for credentials and permissions.
func access() []rule {
	return []rule{
		{
			code: "credentials-expired",
			says: []string{
				"ExpiredToken", "RequestExpired", "is expired", "NoCredentialProviders",
				"no valid credential sources", "InvalidClientTokenId",
			},
			explain: fixed("the AWS credentials expired during the update, or there are none",
				"aws sts get-caller-identity; renew them for an hour or more (aws sso login), "+
					"then {again}"),
		},
		{
			code: "access-denied",
			says: []string{"UnauthorizedOperation", "AccessDenied", "not authorized to perform"},
			explain: fixed(
				"the AWS identity lacks a permission, or a policy of the organization denies it",
				"aws sts get-caller-identity; grant that identity the action in the evidence, "+
					"then {again}"),
		},
	}
}

// describeGroup asks EKS about the node group that failed. The field to show is appended.
const describeGroup = "aws eks describe-nodegroup --region {region} --cluster-name {cluster} " +
	"--nodegroup-name {group} --query nodegroup."

// nodes returns the rules for failures of node groups and add-ons.
func nodes() []rule {
	return []rule{
		{
			code:    "zone-unsupported",
			says:    []string{"UnsupportedAvailabilityZone"},
			explain: zoneUnsupported,
		},
		{
			// Sources: EC2 API reference, "Error codes", Unsupported; eksctl-io/eksctl#792.
			code: "type-unsupported",
			says: []string{
				"not supported in your requested Availability Zone", "requested configuration is currently not supported",
				"Unsupported - ", "Unsupported: ",
			},
			explain: unsupported,
		},
		{
			// Sources: hashicorp/terraform-provider-aws#39904, terraform-aws-modules/terraform-aws-eks#2028.
			code:  "volume-key",
			says:  []string{"Client error on launch", "Client.InternalError", "Client.InvalidKMSKey", "InvalidKMSKey"},
			types: []string{nodeGroupType},
			explain: fixed("the instances cannot use the KMS key of their volumes: the account's default key for EBS "+
				"does not allow the service-linked role of Auto Scaling",
				"aws ec2 get-ebs-default-kms-key-id --region {region}; allow AWSServiceRoleForAutoScaling to use that key "+
					"and kms:CreateGrant, then pulumi up"),
		},
		{
			code: "subnet-full",
			says: []string{"InsufficientFreeAddresses", "InsufficientCidrBlocks"},
			explain: fixed("the nodes' subnet has no free addresses; pods take them from it too",
				"fewer nodes, or pulumi destroy, pulumi config set vpcCidr with a larger block, and pulumi up"),
		},
		{
			code:  "zones-spanned",
			says:  []string{"placement group can't span"},
			types: []string{nodeGroupType},
			explain: fixed("the node group's subnets are in several zones; a cluster placement group, "+
				"like EFA traffic, stays within one zone",
				describeGroup+"subnets; keep one subnet, then pulumi up"),
		},
		{
			code:  "nodes-not-joined",
			says:  []string{"failed to join"},
			types: []string{nodeGroupType},
			explain: fixed("the instances start but do not reach the API server: their interfaces lack "+
				"the cluster's security group, their subnet lacks its route to the NAT gateway, or the "+
				"node role lacks its access entry",
				"aws ec2 describe-instances --region {region} "+
					"--filters Name=tag:eks:cluster-name,Values={cluster} "+
					"--query 'Reservations[].Instances[].NetworkInterfaces[].Groups'; "+
					"check that the cluster's security group is listed, fix it, then pulumi up"),
		},
		{
			code:  "nodes-unhealthy",
			says:  []string{"Unhealthy nodes", "NodeCreationFailure"},
			types: []string{nodeGroupType},
			explain: fixed("the nodes registered but are NotReady, usually because the vpc-cni add-on, "+
				"or the policy of its role, is missing",
				"kubectl -n kube-system get pods -l k8s-app=aws-node"),
		},
		{
			code:    "node-group-failed",
			says:    []string{"CREATE_FAILED", "AsgInstanceLaunchFailures", "unexpected state"},
			types:   []string{nodeGroupType},
			explain: fixed("EKS could not {operation} the node group", describeGroup+"health"),
		},
		{
			code:       "addon-degraded",
			says:       []string{"DEGRADED", "timeout", "unexpected state", "CREATE_FAILED"},
			types:      []string{addonType},
			operations: creation(),
			explain: fixed(
				"the add-on's pods are not running: no node can run them, or their image cannot be pulled",
				"kubectl -n kube-system get pods -o wide; aws eks describe-addon "+
					"--cluster-name {cluster} --region {region} --addon-name {name}"),
		},
	}
}

// leftovers returns the rules for resources that already exist or are still in use.
func leftovers() []rule {
	return []rule{
		{
			code: "still-used",
			says: []string{
				"DependencyViolation", "ResourceInUseException: Cluster has", "is currently in use",
			},
			explain: fixed("the resource is still in use by something outside this stack, or by a "+
				"network interface that the CNI did not delete",
				"aws ec2 describe-network-interfaces --region {region} "+
					"--filters Name=tag-key,Values=eks:kubernetes-cni-node-name; delete those, "+
					"then run the same command again"),
		},
		{
			// Sources: https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2446 and /2763: the
			// service-linked role of EKS creates the group again for lines that arrive after its deletion.
			code:  "log-group-left",
			says:  []string{"ResourceAlreadyExistsException"},
			types: []string{logGroupType},
			explain: fixed("the log group of the control plane already exists: EKS wrote log lines after "+
				"an earlier destroy and created the group again",
				"aws logs delete-log-group --log-group-name /aws/eks/{cluster}/cluster "+
					"--region {region}, then pulumi up (or keep its lines: pulumi import)"),
		},
		{
			code: "name-taken",
			says: []string{"ResourceInUseException", "*AlreadyExists", "already exists"},
			explain: fixed("a resource with this name already exists and is not in the state of this stack; "+
				"perhaps it was made by a killed update",
				"raytrain recover --import, then pulumi up; if it belongs to someone else: "+
					"pulumi config set clusterName OTHER-NAME"),
		},
	}
}

// kubernetes returns the rules for failures that Helm and the Kubernetes provider report after
// waiting.
func kubernetes() []rule {
	return []rule{
		{
			code: "unschedulable",
			says: []string{
				"nodes are available", "Unschedulable", "unschedulable", "FailedScheduling",
				"Insufficient cpu", "Insufficient memory",
			},
			explain: fixed("no node can run the pod: not enough free CPU or memory, "+
				"or labels or taints do not match",
				"kubectl get pods -A --field-selector status.phase=Pending; "+
					"kubectl get events -A --field-selector reason=FailedScheduling"),
			types: []string{kubernetesType},
		},
		{
			code:  "image-not-pulled",
			says:  []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName"},
			types: []string{kubernetesType},
			explain: fixed("an image cannot be pulled: check its name, its registry, "+
				"and the nodes' route to the internet",
				"kubectl get events -A --field-selector reason=Failed"),
		},
		{
			code: "chart-not-found",
			says: []string{
				"looking up repository", "failed to fetch", "chart not found",
				"not a valid chart repository", "no such host", "failed to download",
			},
			types: []string{releaseType},
			explain: fixed("the chart repository cannot be reached or does not have this version",
				"pulumi config get --path charts; helm show chart with that repository and version; "+
					"then pulumi up"),
		},
		{
			code:  "release-left",
			says:  []string{"cannot re-use a name that is still in use"},
			types: []string{releaseType},
			explain: fixed("an update that was killed left the Helm release behind",
				"raytrain recover --delete, or helm list -A --all --filter {name} and "+
					"helm uninstall {name} -n NAMESPACE; then pulumi up"),
		},
		{
			code: "release-timeout",
			says: []string{
				"timed out", "deadline exceeded", "allocated timeout", "failed status",
				"failed to initialize",
			},
			types:      []string{releaseType},
			operations: creation(),
			explain: fixed(
				"the chart's pods did not become ready in time (setting charts.timeoutSeconds)",
				"kubectl get pods -A -o wide; kubectl get events -A --sort-by .lastTimestamp; "+
					"helm status {name} -n NAMESPACE"),
		},
		{
			code: "cluster-unreachable",
			says: []string{
				"connection refused", "i/o timeout", "no such host", "unreachable",
				"asked for the client to provide credentials", "Unauthorized",
			},
			types:   []string{kubernetesType},
			explain: unreachable,
		},
		{
			code:       "kubernetes-timeout",
			says:       []string{"timed out", "deadline exceeded", "Timeout"},
			types:      []string{kubernetesType},
			operations: creation(),
			explain: fixed("the object was created but did not become ready in time",
				"kubectl get pods -A -o wide; kubectl get events -A --sort-by .lastTimestamp"),
		},
	}
}

// otherFailures returns the rules for all other failures.
func otherFailures() []rule {
	return []rule{{
		code:       "delete-timeout",
		says:       []string{"timed out", "deadline exceeded", "Timeout", "timeout"},
		operations: []string{deletion},
		explain: fixed("the deletion did not end in time: something in the resource still runs, "+
			"or a finalizer keeps it",
			"kubectl get namespaces,pods -A shows what is Terminating; then {again}"),
	}, {
		code:    "resource-failed",
		explain: otherFailure,
	}}
}
