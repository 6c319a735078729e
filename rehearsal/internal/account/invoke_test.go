package account

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
)

func TestInvokes(t *testing.T) {
	l := newLab(t)
	step, err := l.up()
	require.NoError(t, err, step)
	for _, test := range []struct {
		name, token, args string
		want              map[string]any
		code              string
	}{
		{
			name: "EFA of a type", token: "aws:ec2/getInstanceType:getInstanceType",
			args: `{"instanceType":"g6.12xlarge"}`,
			want: map[string]any{"efaSupported": true, "efaMaximumInterfaces": 1.0, "defaultVcpus": 48.0, "maximumNetworkCards": 1.0},
		},
		{name: "a type that is not there", token: "aws:ec2/getInstanceType:getInstanceType", args: `{"instanceType":"g6.huge"}`, code: "InvalidInstanceType"},
		{
			name: "zones", token: "aws:index/getAvailabilityZones:getAvailabilityZones",
			args: `{"filters":[{"name":"opt-in-status","values":["opt-in-not-required"]}],"excludeNames":["us-east-2c"]}`,
			want: map[string]any{"names": []any{"us-east-2a", "us-east-2b"}, "zoneIds": []any{"use2-az1", "use2-az2"}},
		},
		{
			name:  "all zones with their ids",
			token: "aws:index/getAvailabilityZones:getAvailabilityZones", args: `{}`,
			want: map[string]any{
				"names":   []any{"us-east-2a", "us-east-2b", "us-east-2c"},
				"zoneIds": []any{"use2-az1", "use2-az2", "use2-az3"},
			},
		},
		{
			name:  "a filter that is not known",
			token: "aws:index/getAvailabilityZones:getAvailabilityZones",
			args:  `{"filters":[{"name":"opt","values":["x"]}]}`, code: "InvalidParameterValue",
		},
		{
			name: "offerings", token: "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
			args: `{"locationType":"availability-zone","filters":[{"name":"instance-type","values":["g6.12xlarge"]}]}`,
			want: map[string]any{"locations": []any{"us-east-2a", "us-east-2c"}},
		},
		{
			name: "quota", token: "aws:servicequotas/getServiceQuota:getServiceQuota",
			args: `{"serviceCode":"ec2","quotaCode":"L-DB2E81BA"}`,
			want: map[string]any{"value": 96.0, "quotaName": "Running On-Demand G and VT " +
				"instances"},
		},
		{name: "quota that is not there", token: "aws:servicequotas/getServiceQuota:getServiceQuota", args: `{"serviceCode":"ec2","quotaCode":"L-0"}`, code: "NoSuchResourceException"},
		{
			name: "newest add-on", token: "aws:eks/getAddonVersion:getAddonVersion",
			args: `{"addonName":"vpc-cni","kubernetesVersion":"` + eks.DefaultVersion() +
				`","mostRecent":true}`,
			want: map[string]any{"version": "v1.22.4-eksbuild.3"},
		},
		{
			name: "AMI release", token: "aws:ssm/getParameter:getParameter",
			args: `{"name":"/aws/service/eks/optimized-ami/` + eks.DefaultVersion() + `/amazon-linux-2023/x86_64/nvidia/recommended/release_version"}`,
			want: map[string]any{"value": eks.DefaultRelease()},
		},
		{name: "parameter that is not there", token: "aws:ssm/getParameter:getParameter", args: `{"name":"/aws/service/eks/optimized-ami/` + eks.DefaultVersion() + `/amazon-linux-2/recommended/image_id"}`, code: "ParameterNotFound"},
		{
			name: "running instances of a group", token: "aws:ec2/getInstances:getInstances",
			args: `{"instanceTags":{"eks:nodegroup-name":"system"}}`,
			want: map[string]any{"privateIps": []any{"10.0.0.5"}},
		},
		{name: "cluster", token: "aws:eks/getCluster:getCluster", args: `{"name":"train"}`, want: map[string]any{"status": "ACTIVE", "endpoint": "https://127.0.0.1:6443"}},
		{name: "cluster that is not there", token: "aws:eks/getCluster:getCluster", args: `{"name":"other"}`, code: "ResourceNotFoundException"},
		{name: "another region", token: "aws:index/getRegion:getRegion", args: `{"name":"eu-west-1"}`, code: "ValidationError"},
		{name: "misspelt argument", token: "aws:index/getRegion:getRegion", args: `{"nam":"x"}`, code: "ValidationError"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "offerings" {
				require.NoError(
					t,
					l.account.SetFaults(
						t.Context(),
						api.Faults{
							NotOffered: []api.TypeInZone{{Type: "g6.12xlarge", Zone: "us-east-2b"}},
						},
					),
				)
			}
			body, err := l.account.Invoke(test.token, json.RawMessage(test.args))
			require.Equal(t, test.code, code(err))
			if err != nil {
				return
			}
			got := map[string]any{}
			require.NoError(t, json.Unmarshal(body, &got))
			for name, want := range test.want {
				assert.Equal(t, want, got[name], name)
			}
		})
	}
}

// The price of the control plane rests on it.
func TestClusterVersionsTellTheirSupport(t *testing.T) {
	l := newLab(t)
	body, err := l.account.Invoke("aws:eks/getClusterVersions:getClusterVersions",
		json.RawMessage(`{"includeAll":true}`))
	require.NoError(t, err)
	var got struct {
		ClusterVersions []struct{ ClusterVersion, VersionStatus string }
	}
	require.NoError(t, json.Unmarshal(body, &got))
	support := map[string]string{}
	for _, version := range got.ClusterVersions {
		support[version.ClusterVersion] = version.VersionStatus
	}
	assert.Equal(
		t,
		map[string]string{
			"1.34":               "STANDARD_SUPPORT",
			"1.35":               "STANDARD_SUPPORT",
			eks.DefaultVersion(): "STANDARD_SUPPORT",
		},
		support,
	)
}
