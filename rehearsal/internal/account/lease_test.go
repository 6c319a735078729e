package account

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/scheduler"
)

// leaseRequest is the request that the program's schedule sends.
const leaseRequest = `{"ClusterName":"train","NodegroupName":"gpu","ScalingConfig":{"MinSize":0,"DesiredSize":0}}`

// lease returns the inputs of a schedule.
func (l *lab) lease(change func(props)) props {
	target := props{
		"arn":     "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig",
		"roleArn": l.out["lease-role"]["arn"], "input": leaseRequest,
	}
	change(target)
	return props{
		"scheduleExpression": "at(2026-11-30T12:00:00)", "scheduleExpressionTimezone": "UTC",
		"flexibleTimeWindow": props{"mode": "OFF"}, "target": target,
	}
}

// gpuNodes counts the GPU nodes that run, after a request to the account.
func (l *lab) gpuNodes() int {
	response := httptest.NewRecorder()
	l.account.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, api.PathInventory, nil))
	require.Equal(l.t, http.StatusOK, response.Code, response.Body.String())
	count := 0
	for _, node := range l.runtime.nodes {
		if node.NodeGroup == "gpu" {
			count++
		}
	}
	return count
}

func TestTheLeaseEndsTheGPUNodes(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	require.NoError(t, l.create("lease-role", iam.Roles.String(),
		props{"name": "lease", "assumeRolePolicy": trust("scheduler.amazonaws.com")}))
	unchanged := func(props) {}
	require.NoError(t, l.create("lease", scheduler.Schedules.String(), l.lease(unchanged)))
	require.Equal(t, 2, l.gpuNodes())

	l.now = time.Date(2026, 11, 30, 12, 0, 1, 0, time.UTC)
	assert.Equal(t, 2, l.gpuNodes(), "the role may not change the group")
	require.NoError(t, l.create("lease-policy", iam.RolePolicies.String(), props{
		"role":   l.ids["lease-role"],
		"policy": `{"Statement":[{"Effect":"Allow","Action":["eks:UpdateNodegroupConfig"],"Resource":"*"}]}`,
	}))
	later := l.lease(unchanged)
	later["scheduleExpression"] = "at(2026-11-30T13:00:00)"
	require.NoError(t, l.update("lease", scheduler.Schedules.String(), later))
	assert.Equal(t, 2, l.gpuNodes(), "the update of the stack extends the lease")

	l.now = l.now.Add(time.Hour)
	assert.Zero(t, l.gpuNodes())
	assert.Len(t, l.runtime.nodes, 1, "the system node stays")
	assert.Less(t, l.account.Inventory().HourlyUSD(), 0.5)

	// What `pulumi up --refresh` sends: the state then knows that there are no nodes.
	require.NoError(t, l.update("gpu", eks.NodeGroups.String(), l.gpuGroup()))
	assert.Equal(t, 2, l.gpuNodes(), "and the schedule has run once")

	step, err = l.down()
	require.NoError(t, err, step)
	assert.Empty(t, l.account.Inventory().Remains())
}

// Each row is refused by CreateSchedule, or would fail unseen when the lease ends.
func TestALeaseThatCannotWorkIsRefused(t *testing.T) {
	l := newLab(t)
	require.NoError(t, l.create("lease-role", iam.Roles.String(),
		props{"name": "lease", "assumeRolePolicy": trust("scheduler.amazonaws.com")}))
	require.NoError(t, l.create("other", iam.Roles.String(),
		props{"name": "other", "assumeRolePolicy": trust("ec2.amazonaws.com")}))
	set := func(key string, value any) func(props) { return func(p props) { p[key] = value } }
	for want, change := range map[string]func(props){
		"missing the following field(s): ClusterName, NodegroupName": set("input", `{"clusterName":"train","nodegroupName":"gpu"}`),
		"unknown field": set("input", `{"ClusterName":"train","NodegroupName":"gpu","Size":0}`),
		"must allow AWS EventBridge Scheduler to assume the role": set("roleArn", l.out["other"]["arn"]),
		"not in correct format":                                   set("arn", "arn:aws:lambda:us-east-2:1:function:f"),
	} {
		err := l.create("lease", scheduler.Schedules.String(), l.lease(change))
		assert.Equal(t, "ValidationException", code(err))
		require.ErrorContains(t, err, want)
	}
	for key, value := range map[string]any{
		"scheduleExpression": "in 8 hours", "flexibleTimeWindow": props{"mode": "NONE"},
		"scheduleExpressionTimezone": "Europe/Paris",
	} {
		inputs := l.lease(func(props) {})
		inputs[key] = value
		assert.Equal(t, "ValidationException", code(l.create("lease", scheduler.Schedules.String(), inputs)), key)
	}
}
