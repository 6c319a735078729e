package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/owned"
)

// ownTags are the tags of the tested stack.
const ownTags = `"tagsAll": {"project": "ray-train-efa", "stack": "dev"}`

// pendingCreate returns the pending operation of one resource.
func pendingCreate(token, name, inputs string) string {
	return fmt.Sprintf(`{"type": "creating", "resource": {"urn": "urn:pulumi:dev::ray-train-efa::%s::%s",
		"custom": true, "type": "%s", "inputs": {%s}, "dependencies": ["urn:a"]}}`, token, name, token, inputs)
}

// exported returns a state with one VPC and these pending operations.
func exported(pending ...string) []byte {
	return []byte(`{"version": 3, "deployment": {"manifest": {"magic": "kept"}, "resources": [
		{"urn": "urn:pulumi:dev::ray-train-efa::aws:ec2/vpc:Vpc::vpc", "custom": true, "id": "vpc-1",
		 "type": "aws:ec2/vpc:Vpc", "outputs": {}}
	], "pending_operations": [` + strings.Join(pending, ",") + `]}}`)
}

// account answers with the tagged resources of a test. The object and the release have the name
// "there"; any other does not exist.
func account(arns ...string) Lookup {
	return Lookup{
		Tagged: func(context.Context) ([]owned.Resource, error) {
			var all []owned.Resource
			for _, arn := range arns {
				all = append(all, owned.Resource{ARN: arn, Tags: owned.StackTags("ray-train-efa", "dev")})
			}
			return all, nil
		},
		Object: func(_ context.Context, kind, namespace, name string) (bool, error) {
			if kind != "raycluster.v1.ray.io" && kind != "namespace" {
				return false, errors.New("no such kind: " + kind)
			}
			return name == "there" && (namespace == "ray" || kind == "namespace"), nil
		},
		Release: func(_ context.Context, _, name string) ([]string, error) {
			return map[string][]string{"there": {"deployed"}, "half": {"pending-install"}}[name], nil
		},
	}
}

func TestEachPendingCreateIsFoundOrNot(t *testing.T) {
	t.Parallel()
	const ec2 = "arn:aws:ec2:us-east-2:111122223333:"
	const eks = "arn:aws:eks:us-east-2:111122223333:"
	for name, test := range map[string]struct {
		pending    string
		arns       []string
		status     Status
		id         string
		replaces   bool
		unfinished bool
	}{
		"control plane": {
			pending: pendingCreate("aws:eks/cluster:Cluster", "eks", `"name": "c", `+ownTags),
			arns:    []string{eks + "cluster/other", eks + "cluster/c"}, status: Found, id: "c",
		},
		"control plane that was never requested": {
			pending: pendingCreate("aws:eks/cluster:Cluster", "eks", `"name": "c", `+ownTags),
			arns:    []string{eks + "cluster/other"}, status: Absent,
		},
		"node group": {
			pending: pendingCreate("aws:eks/nodeGroup:NodeGroup", "gpu",
				`"clusterName": "c", "nodeGroupName": "gpu-1", `+ownTags),
			arns:   []string{eks + "nodegroup/c/system-1/u1", eks + "nodegroup/c/gpu-1/u2"},
			status: Found, id: "c:gpu-1",
		},
		"addon": {
			pending: pendingCreate("aws:eks/addon:Addon", "dns", `"clusterName": "c", "addonName": "coredns", `+ownTags),
			arns:    []string{eks + "addon/c/coredns/u1"}, status: Found, id: "c:coredns",
		},
		"gateway with an id of AWS": {
			pending: pendingCreate("aws:ec2/natGateway:NatGateway", "nat", ownTags),
			arns:    []string{ec2 + "natgateway/nat-1"}, status: Found, id: "nat-1",
		},
		"two candidates": {
			pending: pendingCreate("aws:ec2/natGateway:NatGateway", "nat", ownTags),
			arns:    []string{ec2 + "natgateway/nat-1", ec2 + "natgateway/nat-2"}, status: Unknown,
		},
		"another stack's": {
			pending: pendingCreate("aws:ec2/natGateway:NatGateway", "nat", `"tagsAll": {"stack": "prod"}`),
			arns:    []string{ec2 + "natgateway/nat-1"}, status: Absent,
		},
		"only the one that the state holds": {
			pending: pendingCreate("aws:ec2/vpc:Vpc", "other", ownTags),
			arns:    []string{ec2 + "vpc/vpc-1"}, status: Absent,
		},
		"the replacement of one in the state": {
			pending: pendingCreate("aws:ec2/vpc:Vpc", "vpc", ownTags),
			arns:    []string{ec2 + "vpc/vpc-1", ec2 + "vpc/vpc-2"}, status: Found, id: "vpc-2", replaces: true,
		},
		"log group": {
			pending: pendingCreate("aws:cloudwatch/logGroup:LogGroup", "log", `"name": "/aws/eks/c/cluster", `+ownTags),
			arns:    []string{"arn:aws:logs:us-east-2:111122223333:log-group:/aws/eks/c/cluster"},
			status:  Found, id: "/aws/eks/c/cluster",
		},
		"role, by its name": {
			pending: pendingCreate("aws:iam/role:Role", "nodes", `"name": "nodes-1"`),
			status:  Found, id: "nodes-1",
		},
		"attachment": {
			pending: pendingCreate("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "a", `"role": "r"`),
			status:  Absent,
		},
		"route": {
			pending: pendingCreate("aws:ec2/route:Route", "r", `"routeTableId": "rtb-1"`), status: Unknown,
		},
		"RayCluster": {
			pending: pendingCreate("kubernetes:ray.io/v1:RayCluster", "train",
				`"metadata": {"name": "there", "namespace": "ray"}`),
			status: Found, id: "ray/there",
		},
		"namespace that does not exist": {
			pending: pendingCreate("kubernetes:core/v1:Namespace", "ray", `"metadata": {"name": "gone"}`),
			status:  Absent,
		},
		"object of a cluster that does not answer": {
			pending: pendingCreate("kubernetes:apps/v1:Deployment", "d", `"metadata": {"name": "there", "namespace": "ray"}`),
			status:  Unknown, id: "ray/there",
		},
		"release": {
			pending: pendingCreate("kubernetes:helm.sh/v3:Release", "r", `"name": "there", "namespace": "kube-system"`),
			status:  Found, id: "kube-system/there",
		},
		"release that was not installed": {
			pending: pendingCreate("kubernetes:helm.sh/v3:Release", "r", `"name": "half", "namespace": "kube-system"`),
			status:  Found, id: "kube-system/half", unfinished: true,
		},
		"training job": {
			pending: pendingCreate("raytrain:index:TrainingJob", "gate", ``), status: InState,
		},
		"deletion": {
			pending: strings.Replace(pendingCreate("aws:ec2/vpc:Vpc", "vpc", ownTags), "creating", "deleting", 1),
			arns:    []string{ec2 + "vpc/vpc-2"}, status: InState,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, err := ReadState(exported(test.pending))
			require.NoError(t, err)
			found, err := state.Leftovers(t.Context(), account(test.arns...))
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, test.status, found[0].Status, found[0].Line())
			assert.Equal(t, test.id, found[0].ID)
			assert.Equal(t, test.replaces, found[0].Replacement)
			assert.Equal(t, test.unfinished, found[0].Unfinished)
		})
	}
}

func TestTheEditedStateHoldsWhatWasFound(t *testing.T) {
	t.Parallel()
	state, err := ReadState(exported(
		pendingCreate("aws:eks/cluster:Cluster", "eks", `"name": "c", "__defaults": ["x"], `+ownTags),
		pendingCreate("aws:ec2/vpc:Vpc", "vpc", ownTags),
		pendingCreate("aws:ec2/route:Route", "r", `"routeTableId": "rtb-1"`),
		pendingCreate("aws:ec2/eip:Eip", "nat", ownTags)))
	require.NoError(t, err)
	found, err := state.Leftovers(t.Context(), account("arn:aws:eks:us-east-2:111122223333:cluster/c",
		"arn:aws:ec2:us-east-2:111122223333:vpc/vpc-2"))
	require.NoError(t, err)
	edited, err := state.resolve(found)
	require.NoError(t, err)
	var got struct {
		Version    int
		Deployment struct {
			Manifest  map[string]string
			Resources []struct {
				URN, ID      string
				Delete       bool
				Dependencies []string
				Outputs      map[string]json.RawMessage
			}
			Pending []struct {
				Type     string
				Resource struct{ URN string }
			} `json:"pending_operations"`
		}
	}
	require.NoError(t, json.Unmarshal(edited, &got))
	assert.Equal(t, 3, got.Version)
	assert.Equal(t, "kept", got.Deployment.Manifest["magic"])
	resources := got.Deployment.Resources
	require.Len(t, resources, 3)
	assert.Equal(t, []string{"vpc-1", "c", "vpc-2"}, []string{resources[0].ID, resources[1].ID, resources[2].ID})
	assert.Equal(t, []string{"urn:a"}, resources[1].Dependencies)
	assert.Contains(t, resources[1].Outputs, "name")
	assert.NotContains(t, resources[1].Outputs, "__defaults")
	assert.False(t, resources[1].Delete)
	assert.True(t, resources[2].Delete, "the next update deletes the second one of a URN")
	assert.Empty(t, got.Deployment.Pending)
}
