package account

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
)

func TestALogGroupNeedsAKeyThatAllowsIt(t *testing.T) {
	l := newLab(t)
	group := func() props {
		return props{"name": "/aws/eks/train/flow", "retentionInDays": 7, "kmsKeyId": l.out["key"]["arn"]}
	}
	require.NoError(t, l.create("key", kms.Keys.String(), props{}))
	err := l.create("log", logs.LogGroups.String(), group())
	assert.Equal(t, "InvalidParameterException", code(err))
	require.ErrorContains(t, err, "log-group:/aws/eks/train/flow")

	policy := trust("logs.us-east-2.amazonaws.com")
	require.NoError(t, l.update("key", kms.Keys.String(), props{"policy": policy}))
	require.NoError(t, l.create("log", logs.LogGroups.String(), group()))
	require.NoError(t, l.delete("key", kms.Keys.String()))
	err = l.update("log", logs.LogGroups.String(), group())
	assert.Equal(t, "InvalidParameterException", code(err), "the key is pending deletion")
}

func TestAPermissionsBoundaryMustExist(t *testing.T) {
	l := newLab(t)
	role := func(boundary string) props {
		return props{"assumeRolePolicy": trust("ec2.amazonaws.com"), "permissionsBoundary": boundary}
	}
	err := l.create("role", iam.Roles.String(), role("arn:aws:iam::123456789012:policy/none"))
	assert.Equal(t, "NoSuchEntity", code(err))
	require.NoError(t, l.create("role", iam.Roles.String(), role(iam.ManagedPolicy+"AmazonS3ReadOnlyAccess")))
}

func TestFlowLogsNeedARoleThatMayWrite(t *testing.T) {
	l := newLab(t)
	require.NoError(t, l.create("vpc", ec2.Vpcs.String(), props{"cidrBlock": "10.0.0.0/16"}))
	require.NoError(t, l.create("log", logs.LogGroups.String(), props{"name": "/flow", "retentionInDays": 7}))
	require.NoError(t, l.create("other", iam.Roles.String(), props{"name": "other", "assumeRolePolicy": trust("ec2.amazonaws.com")}))
	require.NoError(t, l.create("role", iam.Roles.String(), props{"name": "flow", "assumeRolePolicy": trust("vpc-flow-logs.amazonaws.com")}))
	flow := func(change func(props)) error {
		inputs := props{
			"vpcId": l.ids["vpc"], "trafficType": "ALL",
			"iamRoleArn": l.out["role"]["arn"], "logDestination": l.out["log"]["arn"],
		}
		change(inputs)
		return l.create("flow", ec2.FlowLogs.String(), inputs)
	}
	set := func(key string, value any) func(props) { return func(p props) { p[key] = value } }
	unchanged := func(props) {}
	require.ErrorContains(t, flow(unchanged), "lacks logs:CreateLogStream")
	policy := `{"Statement":[{"Effect":"Allow","Action":["logs:CreateLogStream","logs:PutLogEvents"],"Resource":"*"}]}`
	require.NoError(t, l.create("policy", iam.RolePolicies.String(), props{"role": l.ids["role"], "policy": policy}))
	for want, change := range map[string]func(props){
		"trafficType":    set("trafficType", "SOME"),
		"does not trust": set("iamRoleArn", l.out["other"]["arn"]),
		"does not exist": set("logDestination", "arn:aws:logs:us-east-2:123456789012:log-group:/none"),
	} {
		require.ErrorContains(t, flow(change), want)
	}
	require.NoError(t, flow(unchanged))
	assert.Contains(t, l.out["flow"]["arn"], ":vpc-flow-log/fl-")
	step, err := l.down()
	require.NoError(t, err, step)
}

func TestLaunchTemplatesThatEC2AndEKSRefuse(t *testing.T) {
	volume := func(iops, throughput int) func(props) {
		return func(p props) {
			p["blockDeviceMappings"] = []props{{"deviceName": "/dev/xvda", "ebs": props{
				"volumeType": "gp3", "iops": iops, "throughput": throughput,
			}}}
		}
	}
	userData := func(text string) func(props) { return func(p props) { p["userData"] = text } }
	for _, test := range []struct {
		name, code, text string
		change           func(props)
	}{
		{"few operations", "InvalidParameterValue", "range 3000 to 16000", volume(1000, 125)},
		{"throughput", "InvalidParameterValue", "range 125 to 1000", volume(4000, 1001)},
		{"ratio", "InvalidParameterValue", "is too high", volume(3000, 1000)},
		{"user data", "InvalidRequestException", "MIME multipart", userData("c3BlYzoge30=")},
		{"good volume", "", "", volume(4000, 1000)},
		{"good user data", "", "", userData("TUlNRS1WZXJzaW9uOiAxLjAK")},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			l.change["lt"] = test.change
			step, err := l.up()
			assert.Equal(t, test.code, code(err))
			if test.code != "" {
				assert.Equal(t, "gpu", step)
				require.ErrorContains(t, err, test.text)
			}
		})
	}
}
