package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFailureNamesCauseAndNextCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, cause, next string
	}{
		{"two zones", "InvalidParameterValue - A cluster placement group can't span multiple Availability Zones", "several zones", "--nodegroup-name gpu-1a2b3c4 --query nodegroup.subnets"},
		{"no capacity", "AsgInstanceLaunchFailures: InsufficientInstanceCapacity - We currently do not have", "free in the zone", "availabilityZone ZONE"},
		{"no quota", "VcpuLimitExceeded - You have requested more vCPU capacity", "quota", "aws service-quotas"},
		{"no way to the API server", "NodeCreationFailure: Instances failed to join the kubernetes cluster", "security group", "Values=train "},
		{"no network", "NodeCreationFailure: Unhealthy nodes in the kubernetes cluster", "vpc-cni", "kubectl"},
		{"anything else", "InternalFailure: try again", "did not bring", "--query nodegroup.health"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := "waiting for EKS Node Group (train:gpu-1a2b3c4) create: unexpected state 'CREATE_FAILED'. last error: " + test.text
			cause, next, ok := ExplainFailure(text, "us-east-2")
			require.True(t, ok)
			assert.Contains(t, cause, test.cause)
			assert.Contains(t, next, test.next)
			assert.NotRegexp(t, "REGION|CLUSTER|GROUP", next)
		})
	}
}

func TestFailureOfSomethingElseIsNotExplained(t *testing.T) {
	t.Parallel()
	_, _, ok := ExplainFailure("creating EC2 VPC: VpcLimitExceeded", "us-east-2")
	assert.False(t, ok)
}
