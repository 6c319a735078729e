package tests

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withGPUNodes is a run with a lease, in an account where EKS has that many GPU nodes.
func withGPUNodes(count int) options {
	region := generous().with(func(c *cloud) { c.gpuNodes = count })
	return options{cloud: &region, config: map[string]string{"ttlHours": "8"}}
}

func TestTheLeaseEndsAfterTheSetTime(t *testing.T) {
	t.Parallel()
	assert.Empty(t, green(t, options{}).ofType(schedule), "the default is no lease")

	before := time.Now()
	r := green(t, withGPUNodes(2))
	lease := r.one(t, schedule, "lease")
	end, err := time.Parse("at(2006-01-02T15:04:05)", lease.text(t, "scheduleExpression"))
	require.NoError(t, err)
	assert.False(t, end.Before(before.Add(8*time.Hour)), end)
	assert.False(t, end.After(time.Now().Add(9*time.Hour)), end)
	assert.Equal(t, "UTC", lease.get(t, "scheduleExpressionTimezone"))
	assert.Equal(t, "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig", lease.get(t, "target|arn"))
	assert.Equal(t, "arn:nodes-lease", lease.get(t, "target|roleArn"))
	assert.Contains(t, lease.dependencies, r.one(t, "aws:iam/rolePolicy:RolePolicy", "nodes-lease").urn,
		"without its policy the call fails, and nobody sees it")
	assert.JSONEq(t, `{"ClusterName": "ray-train-efa", "NodegroupName": "gpu-made",
		"ScalingConfig": {"MinSize": 0, "DesiredSize": 0}}`, lease.text(t, "target|input"))
	assert.Empty(t, checkRequest(t, lease.text(t, "target|input")))
	assert.Contains(t, checkRequest(t, `{"ClusterName": "a", "ScalingConfig": {"Size": 0}}`), "nodegroupName")
}

func TestOnlySchedulesOfThisAccountMayChangeTheGroup(t *testing.T) {
	t.Parallel()
	r := green(t, withGPUNodes(2))
	assert.JSONEq(t, `{"Version": "2012-10-17", "Statement": [{
		"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": ["sts:AssumeRole"],
		"Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}]}`,
		r.one(t, role, "nodes-lease").text(t, "assumeRolePolicy"))
	policy := r.one(t, "aws:iam/rolePolicy:RolePolicy", "nodes-lease").text(t, "policy")
	assert.JSONEq(t, `{"Version": "2012-10-17", "Statement": [{
		"Effect": "Allow", "Action": ["eks:UpdateNodegroupConfig"],
		"Resource": ["arn:aws:eks:us-east-2:123456789012:nodegroup/ray-train-efa/gpu-made/1"]}]}`, policy)
	assert.Empty(t, parliament(t, policy))
}

func TestAnEndedLeaseNamesTheCommandThatRestoresTheNodes(t *testing.T) {
	t.Parallel()
	assert.Contains(t, strings.Join(green(t, withGPUNodes(0)).warnings, "\n"), "pulumi up --refresh")
	assert.NotContains(t, strings.Join(green(t, withGPUNodes(2)).warnings, "\n"), "--refresh")
	preview := withGPUNodes(0)
	preview.preview = true
	assert.NotContains(t, strings.Join(green(t, preview).warnings, "\n"), "--refresh", "there is no group yet")
}

// checkRequest returns what the API model of EKS, which botocore brings, says against a request of
// EventBridge Scheduler, whose names begin in upper case.
func checkRequest(t *testing.T, request string) string {
	t.Helper()
	require.True(t, json.Valid([]byte(request)))
	const script = `
import json, sys
import botocore.session
from botocore.validate import ParamValidator

def lower(value):
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: lower(inner) for key, inner in value.items()}
    return value

model = botocore.session.get_session().get_service_model("eks")
shape = model.operation_model("UpdateNodegroupConfig").input_shape
print(ParamValidator().validate(lower(json.load(sys.stdin)), shape).generate_report(), end="")
`
	command := exec.CommandContext(t.Context(), "../bin/cloud-judges/bin/python", "-c", script)
	command.Stdin = strings.NewReader(request)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s; next: make judges", out)
	return string(out)
}
