package diagnosis

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

func ohio() Stack {
	return Stack{
		Region: "us-east-2", ClusterName: "train", Zone: "us-east-2a", OtherZones: []region.Zone{"us-east-2b"},
		Groups: map[string]Group{
			"gpu":    {InstanceType: "g6.12xlarge", Nodes: 2, QuotaCode: "L-DB2E81BA", VCPUs: 96},
			"system": {InstanceType: "m7i.xlarge", Nodes: 1, QuotaCode: "L-1216C47A", VCPUs: 4},
		},
		HourlyUSD: 9.5548, GPUHourlyUSD: 9.2032, OnePlacement: true,
	}
}

const (
	group   = "aws:eks/nodeGroup:NodeGroup"
	release = "kubernetes:helm.sh/v3:Release"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, typ, error, code string
		says                   []string
	}{
		{"gpu", group, "waiting for EKS Node Group (c:gpu) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: AsgInstanceLaunchFailures: Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient g6.12xlarge capacity",
			"no-capacity", []string{"no capacity for 2 x g6.12xlarge in us-east-2a", "availabilityZone us-east-2b && pulumi up (replaces only the node groups)",
				"one placement group, which may be the reason", "gpu.placement none"}},
		{"gpu", group, "unexpected state 'CREATE_FAILED'. last error: AsgInstanceLaunchFailures: VcpuLimitExceeded - You have requested more vCPU capacity",
			"vcpu-quota", []string{"96 vCPU of quota L-DB2E81BA", "--desired-value 96 --region us-east-2"}},
		{"other", group, "VcpuLimitExceeded", "vcpu-quota", []string{"list-service-quotas"}},
		{"gpu", group, "unexpected state 'CREATE_FAILED'. last error: NodeCreationFailure: Instances failed to join the kubernetes cluster",
			"nodes-not-joined", []string{"security group", "Values=train "}},
		{"gpu", group, "waiting for EKS Node Group (train:gpu-1a2b3c4) create: NodeCreationFailure: Unhealthy nodes in the kubernetes cluster", "nodes-unhealthy", []string{"vpc-cni"}},
		{"gpu", group, "waiting for EKS Node Group (train:gpu-1a2b3c4) create: InvalidParameterValue - A cluster placement group can't span multiple Availability Zones",
			"zones-spanned", []string{"--nodegroup-name gpu-1a2b3c4 --query nodegroup.subnets"}},
		{"gpu", group, "unexpected state 'CREATE_FAILED'. last error: AsgInstanceLaunchFailures: InvalidPlacementGroup.Unknown", "node-group-failed", []string{"describe-nodegroup --region us-east-2 --cluster-name train"}},
		{"coredns", "aws:eks/addon:Addon", "waiting for EKS Add-On (train:coredns) create: timeout while waiting for state to become 'ACTIVE' (last state: 'DEGRADED')",
			"addon-degraded", []string{"--addon-name coredns"}},
		{"nat", "aws:ec2/eip:Eip", "AddressLimitExceeded: The maximum number of addresses has been reached.", "address-quota", []string{"describe-addresses --region us-east-2"}},
		{"vpc", "aws:ec2/vpc:Vpc", "VpcLimitExceeded: The maximum number of VPCs has been reached.", "vpc-quota",
			[]string{"L-F678F1CE", "pulumi preview (prints the command"}},
		{"gpu", group, "AsgInstanceLaunchFailures: Could not launch On-Demand Instances. Unsupported - Your requested instance type (g6.12xlarge) is not supported in your requested Availability Zone (us-east-2a).",
			"type-unsupported", []string{"g6.12xlarge in us-east-2a", "availabilityZone us-east-2b"}},
		{"gpu", group, "AsgInstanceLaunchFailures: Could not launch On-Demand Instances. PendingVerification - Your account is currently being verified.",
			"account-restricted", []string{"until it is verified", "four hours"}},
		{"gpu", group, "AsgInstanceLaunchFailures: InsufficientInstanceCapacity - There is not enough capacity in the capacity reservation cr-1", "reservation-unusable",
			[]string{"describe-capacity-reservations --region us-east-2"}},
		{"gpu", "aws:ec2/capacityReservation:CapacityReservation", "api error InsufficientInstanceCapacity: Insufficient capacity.", "no-capacity", []string{"g6.12xlarge in us-east-2a"}},
		{"gpu", group, "AsgInstanceLaunchFailures: You've reached your quota for maximum Fleet Requests for this account.", "account-restricted", nil},
		{"gpu", group, "AsgInstanceLaunchFailures: Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InternalError: Client error on launch",
			"volume-key", []string{"get-ebs-default-kms-key-id --region us-east-2", "kms:CreateGrant"}},
		{"gpu", group, "Ec2SubnetInvalidConfiguration; InsufficientFreeAddressesInSubnet - There are not enough free addresses", "subnet-full", []string{"vpcCidr"}},
		{"train", "aws:ec2/placementGroup:PlacementGroup", "operation error EC2: CreatePlacementGroup, https response error StatusCode: 503, RequestID: 1, api error RequestLimitExceeded: Request limit exceeded.",
			"throttled", []string{"pulumi up"}},
		{"control-plane", "aws:cloudwatch/logGroup:LogGroup", "creating CloudWatch Logs Log Group (/aws/eks/train/cluster): operation error CloudWatch Logs: CreateLogGroup, https response error StatusCode: 400, RequestID: 1, ResourceAlreadyExistsException: The specified log group already exists",
			"log-group-left", []string{"aws logs delete-log-group --log-group-name /aws/eks/train/cluster --region us-east-2, then pulumi up", "pulumi import"}},
		{"eks", "aws:eks/cluster:Cluster", "UnsupportedAvailabilityZoneException: Cannot create cluster", "zone-unsupported", []string{"availabilityZone"}},
		{"eks", "aws:eks/cluster:Cluster", "ResourceLimitExceededException: Cluster limit exceeded", "resource-quota", nil},
		{"eks", "aws:eks/cluster:Cluster", "ResourceInUseException: Cluster already exists with name: train", "name-taken", []string{"perhaps it was made by a killed update", "raytrain recover --import", "clusterName"}},
		{"eks", "aws:eks/cluster:Cluster", "waiting for EKS Cluster (train) create: update canceled", "interrupted", []string{"pulumi up continues"}},
		{"efa", "aws:ec2/securityGroup:SecurityGroup", "DependencyViolation: resource sg-1 has a dependent object", "still-used", []string{"describe-network-interfaces"}},
		{"vpc", "aws:ec2/vpc:Vpc", "operation error EC2: CreateVpc, api error RequestExpired: Request has expired.", "credentials-expired", []string{"aws sso login"}},
		{"vpc", "aws:ec2/vpc:Vpc", "UnauthorizedOperation: You are not authorized to perform this operation", "access-denied", nil},
		{"kuberay-operator", release, `Helm release "kuberay-system/kuberay-operator" was created, but failed to initialize completely. Use Helm CLI to investigate: failed to become available within allocated timeout`,
			"release-timeout", []string{"charts.timeoutSeconds", "helm status kuberay-operator"}},
		{"kuberay-operator", release, "cannot re-use a name that is still in use", "release-left", []string{"raytrain recover", "helm uninstall kuberay-operator"}},
		{"kuberay-operator", release, "failed to initialize completely: context canceled", "interrupted", []string{"pulumi up"}},
		{"kuberay-operator", release, "0/3 nodes are available: 3 Insufficient cpu.", "unschedulable", []string{"FailedScheduling"}},
		{"efa", release, "looking up repository: no such host", "chart-not-found", nil},
		{"ray", "kubernetes:core/v1:Namespace", "dial tcp 1.2.3.4:443: i/o timeout", "cluster-unreachable", []string{"publicAccessCidrs"}},
		{"train", "kubernetes:ray.io/v1:RayCluster", "timed out waiting for the condition", "kubernetes-timeout", nil},
		{"key", "aws:kms/key:Key", "an unknown error", "resource-failed", []string{"pulumi destroy"}},
	}
	for _, test := range tests {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			d := Explain(Failure{Type: test.typ, Name: test.name, Operation: "create", Error: test.error}, ohio())
			require.Equal(t, test.code, d.Code)
			for _, text := range test.says {
				assert.Contains(t, d.Cause+"\n"+d.Next, text)
			}
			message := d.Error()
			assert.LessOrEqual(t, strings.Count(message, "\n"), screen.Lines)
			assert.Contains(t, message, "("+test.code+")\n")
			assert.Contains(t, message, "\ncause:    "+d.Cause+"\n")
			assert.Contains(t, message, "\nnext:     "+d.Next+"\n")
			assert.Contains(t, message, "billing:  at most $9.55 per hour")
			assert.Contains(t, message, "($0.35 without GPU nodes)")
			assert.NotContains(t, message, "{")
			assert.NotEmpty(t, d.Cause)
		})
	}
}

// A deletion is tried again with the command that failed, which may be pulumi destroy: pulumi up would
// create everything again.
func TestADeletionIsNotTriedAgainWithUp(t *testing.T) {
	t.Parallel()
	const namespace = "kubernetes:core/v1:Namespace"
	for _, test := range []struct{ typ, error, code string }{
		{group, "context canceled", "interrupted"},
		{group, "ThrottlingException: Rate exceeded", "throttled"},
		{group, "AccessDeniedException: not authorized to perform eks:DeleteNodegroup", "access-denied"},
		{group, "ExpiredTokenException", "credentials-expired"},
		{group, "waiting for EKS Node Group (c:gpu) delete: unexpected state 'DELETE_FAILED'", "node-group-failed"},
		{"aws:eks/addon:Addon", "timeout while waiting for resource to be gone (last state: 'DELETING')", "delete-timeout"},
		{release, "uninstallation: timed out waiting for the condition", "delete-timeout"},
		{namespace, "timed out waiting for the condition", "delete-timeout"},
		{"aws:kms/key:Key", "an unknown error", "resource-failed"},
	} {
		d := Explain(Failure{Type: test.typ, Name: "one", Operation: "delete", Error: test.error}, ohio())
		assert.Equal(t, test.code, d.Code, test.error)
		assert.NotContains(t, d.Next, "pulumi up", test.error)
		assert.NotContains(t, d.Cause, "create", test.error)
		assert.NotContains(t, d.Cause+d.Next, "{", test.error)
	}
}

// AWS's codes contain each other; each must find its own rule.
func TestCodesInsideCodes(t *testing.T) {
	t.Parallel()
	for error, code := range map[string]string{
		"RequestLimitExceeded: Request limit exceeded.":                     "throttled",
		"api error ThrottlingException: Rate exceeded":                      "throttled",
		"api error EC2ThrottledException: slow":                             "throttled",
		"api error TooManyRequestsException: slow":                          "throttled",
		"PrivateIpAddressLimitExceeded: too many addresses of an interface": "resource-quota",
		"NetworkInterfaceLimitExceeded: none left":                          "resource-quota",
		"LimitExceeded: Cannot exceed quota for RolesPerAccount":            "resource-quota",
		"ServiceQuotaExceededException: none left":                          "resource-quota",
		"last error: Client.VcpuLimitExceeded: none left":                   "vcpu-quota",
		"VpcLimitExceeded":     "vpc-quota",
		"AddressLimitExceeded": "address-quota",
		"PrivateIpAddressLimitExceeded, and then (AddressLimitExceeded)":                   "address-quota",
		"EntityAlreadyExists: Role with name a already exists.":                            "name-taken",
		"api error ResourceAlreadyExistsException: it does":                                "name-taken",
		"AlreadyExistsException: An alias with the name a already exists":                  "name-taken",
		"AccessDeniedException: User is not authorized to perform: kms:CreateKey":          "access-denied",
		"api error AuthFailure.ExpiredToken: the security token included is not valid any": "credentials-expired",
	} {
		assert.Equal(t, code, Explain(Failure{Type: "aws:kms/key:Key", Name: "n", Operation: "create", Error: error}, ohio()).Code, error)
	}
}

func TestADeletionWithoutAPIServerSaysWhatTheOverrideCosts(t *testing.T) {
	t.Parallel()
	d := Explain(Failure{
		Type: release, Name: "kuberay-operator", Operation: "delete",
		Error: "configured Kubernetes cluster is unreachable: connection refused",
	}, ohio())
	assert.Equal(t, "cluster-unreachable", d.Code)
	assert.Contains(t, d.Next, "aws eks describe-cluster --name train --region us-east-2 --query cluster.status")
	assert.Contains(t, d.Next, "PULUMI_K8S_DELETE_UNREACHABLE=true pulumi refresh")
	assert.Contains(t, d.Next, "left and cost money")
	assert.NotContains(t, d.Next, "checkip")
}

func TestEveryRuleIsUsable(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for _, r := range rules() {
		assert.False(t, codes[r.code], r.code)
		codes[r.code] = true
		cause, next := r.explain(Failure{Name: "gpu"}, ohio())
		assert.NotEmpty(t, cause, r.code)
		assert.NotEmpty(t, next, r.code)
		assert.LessOrEqual(t, utf8.RuneCountInString("cause:    "+cause), 2*screen.Columns, "%s: a cause is never cut", r.code)
	}
	last := rules()[len(rules())-1]
	assert.True(t, last.fits(Failure{}), "the last rule fits all")
}

func TestNoOtherZone(t *testing.T) {
	t.Parallel()
	s := ohio()
	s.OtherZones, s.HourlyUSD = nil, 0
	d := Explain(Failure{Type: group, Name: "gpu", Operation: "create", Error: "InsufficientInstanceCapacity"}, s)
	assert.Contains(t, d.Next, "pulumi up later")
	assert.Contains(t, d.Billing, "an unknown price")
}

// Without a cluster placement group it cannot be the reason, and system nodes are in none.
func TestThePlacementGroupIsNamedOnlyWhereItCanBeTheReason(t *testing.T) {
	t.Parallel()
	apart := ohio()
	apart.OnePlacement = false
	for name, stack := range map[string]Stack{"gpu": apart, "system": ohio()} {
		d := Explain(Failure{Type: group, Name: name, Operation: "create", Error: "InsufficientInstanceCapacity"}, stack)
		assert.NotContains(t, d.Cause+d.Next, "placement", name)
	}
}

func TestALongErrorFitsTheScreen(t *testing.T) {
	t.Parallel()
	d := Explain(Failure{Type: "a", Name: "n", Operation: "delete", Error: "\x1b[31m" + strings.Repeat("long\n", 500)}, ohio())
	lines := strings.Split(d.Error(), "\n")
	assert.Len(t, lines, 4+4, "four lines of evidence")
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), screen.Columns)
	}
}

func TestEvidenceIsWhatAWSSaidLast(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1 error occurred:\n\t* waiting for EKS Node Group: unexpected state. last error: AsgInstanceLaunchFailures: none left\n\n": "AsgInstanceLaunchFailures: none left",
		" creating: boom\n": "creating: boom",
	} {
		assert.Equal(t, want, evidence(in))
	}
}
