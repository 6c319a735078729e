package tests

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pods of the host network can use the role of their node, so it must not have the CNI's policy.
func TestOnlyTheCNIHasItsPolicy(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	const attachments = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
	assert.Equal(t, "nodes-cni-made", r.one(t, attachments, "nodes-cni").get(t, "role"))
	for _, attached := range r.ofType(attachments) {
		if attached.get(t, "role") == "nodes-made" {
			assert.NotContains(t, attached.get(t, "policyArn"), "CNI")
		}
	}
	cni := r.one(t, addon, "vpc-cni")
	assert.Equal(t, []any{map[string]any{"roleArn": "arn:nodes-cni", "serviceAccount": "aws-node"}},
		cni.get(t, "podIdentityAssociations"))
	assert.Contains(t, cni.dependencies, r.one(t, attachments, "nodes-cni").urn)
	trust := r.one(t, role, "nodes-cni").text(t, "assumeRolePolicy")
	assert.Contains(t, trust, `"pods.eks.amazonaws.com"`)
	assert.Contains(t, trust, `"sts:TagSession"`, "EKS refuses the role without it")
}

func TestLogsAreEncryptedWithAKeyThatAllowsIt(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{"flowLogs": "true"}})
	for _, name := range []string{"control-plane", "flow-logs"} {
		assert.Equal(t, "arn:aws:kms:key", r.one(t, logGroup, name).get(t, "kmsKeyId"), name)
	}
	var policy struct {
		Statement []struct {
			Principal map[string]string
			Condition map[string]map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.one(t, kmsKey, "secrets").text(t, "policy")), &policy))
	require.Len(t, policy.Statement, 2)
	assert.Equal(t, "arn:aws:iam::123456789012:root", policy.Statement[0].Principal["AWS"],
		"without it nobody can delete the key")
	assert.Equal(t, "logs.us-east-2.amazonaws.com", policy.Statement[1].Principal["Service"])
	assert.Equal(t, "arn:aws:logs:us-east-2:123456789012:log-group:/aws/eks/ray-train-efa/*",
		policy.Statement[1].Condition["ArnLike"]["kms:EncryptionContext:aws:logs:arn"])
}

func TestFlowLogsOfTheSettings(t *testing.T) {
	t.Parallel()
	assert.Empty(t, green(t, options{}).ofType(flowLog))
	r := green(t, options{config: map[string]string{"flowLogs": "true", "logRetentionDays": "7"}})
	flow := r.one(t, flowLog, "vpc")
	assert.Equal(t, "vpc-id", flow.get(t, "vpcId"))
	assert.Equal(t, "ALL", flow.get(t, "trafficType"))
	assert.Equal(t, "arn:flow-logs", flow.get(t, "iamRoleArn"))
	group := r.one(t, logGroup, "flow-logs")
	assert.Equal(t, "/aws/eks/ray-train-efa/flow-logs", group.get(t, "name"))
	assert.InDelta(t, 7, at(t, group.inputs, "retentionInDays").NumberValue(), 0)
	assert.Contains(t, r.one(t, "aws:iam/rolePolicy:RolePolicy", "flow-logs").text(t, "policy"),
		"log-group:/aws/eks/ray-train-efa/flow-logs:*")
}

func TestEveryRoleHasTheBoundaryOfTheSettings(t *testing.T) {
	t.Parallel()
	const boundary = "arn:aws:iam::123456789012:policy/boundary"
	r := green(t, options{config: map[string]string{"permissionsBoundaryArn": boundary, "flowLogs": "true"}})
	roles := r.ofType(role)
	require.Len(t, roles, 3)
	for _, made := range roles {
		assert.Equal(t, boundary, made.get(t, "permissionsBoundary"), made.name)
	}
	for _, made := range green(t, options{}).ofType(role) {
		assert.False(t, made.has("permissionsBoundary"), made.name)
	}
}

func TestProtectOfTheSettings(t *testing.T) {
	t.Parallel()
	names := func(r run) (protected []string) {
		for _, made := range r.all() {
			if made.protect {
				protected = append(protected, made.name)
			}
		}
		return protected
	}
	assert.Empty(t, names(green(t, options{})))
	assert.ElementsMatch(t, []string{"eks", "secrets", "vpc"},
		names(green(t, options{config: map[string]string{"protect": "true"}})))
}

func TestNamespacesAcceptOnlySafePods(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	const namespace, label = "kubernetes:core/v1:Namespace", "metadata|labels|pod-security.kubernetes.io/enforce"
	assert.Equal(t, "baseline", r.one(t, namespace, "ray").get(t, label))
	assert.Equal(t, "restricted", r.one(t, namespace, "kuberay-system").get(t, label))
	for _, container := range []string{headContainer, workerContainer} {
		security := plain(at(t, r.one(t, rayCluster, "train").inputs, container+"|securityContext"))
		assert.Equal(t, map[string]any{
			"allowPrivilegeEscalation": false, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
			"capabilities": map[string]any{
				"drop": []any{"ALL"}, "add": []any{"CHOWN", "DAC_OVERRIDE", "FOWNER"},
			},
		}, security)
	}
}

func TestTheOperatorWatchesOneNamespace(t *testing.T) {
	t.Parallel()
	r := green(t, options{config: map[string]string{"ray.namespace": "team"}})
	operator := r.one(t, release, "kuberay-operator")
	assert.Equal(t, true, operator.get(t, "values|singleNamespaceInstall"))
	assert.Equal(t, []any{"team"}, operator.get(t, "values|watchNamespace"))
	assert.Contains(t, operator.dependencies, r.one(t, "kubernetes:core/v1:Namespace", "ray").urn,
		"the chart puts a role into it")
}

func TestARestartedContainerKeepsRaysFiles(t *testing.T) {
	t.Parallel()
	cluster := green(t, options{}).one(t, rayCluster, "train")
	for _, pod := range []string{"spec|headGroupSpec|template|spec", workerPod} {
		files := plain(at(t, cluster.inputs, pod+"|volumes"))
		assert.Equal(t, []any{map[string]any{"name": "ray-files", "emptyDir": map[string]any{}}}, files)
		mounts := plain(at(t, cluster.inputs, pod+"|containers|0|volumeMounts"))
		assert.Equal(t, []any{map[string]any{"name": "ray-files", "mountPath": "/tmp/ray"}}, mounts)
	}
}

// EKS refuses it after ten minutes. In a stack that exists, the caller may be another one than the
// creator.
func TestTheCreatorIsNoAdministratorBesides(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, arns, refused string
		change              func(*cloud)
	}{
		{name: "the caller's role", arns: `["arn:aws:iam::123456789012:role/a","arn:aws:iam::123456789012:role/path/ci"]`,
			refused: `adminPrincipalArns "arn:aws:iam::123456789012:role/path/ci" (admin-is-creator)`},
		{name: "another role", arns: `["arn:aws:iam::123456789012:role/my-ci"]`},
		{name: "another account's", arns: `["arn:aws:iam::210987654321:role/ci"]`},
		{name: "a user", arns: `["arn:aws:iam::123456789012:user/ci"]`},
		{name: "existing cluster", arns: `["arn:aws:iam::123456789012:role/ci"]`,
			change: func(c *cloud) { c.clusters = []string{"ray-train-efa"} }},
		{name: "not asked", arns: `["arn:aws:iam::123456789012:role/ci"]`,
			change: func(c *cloud) { c.denied["aws:eks/getClusters:getClusters"] = "eks:ListClusters" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			region := generous()
			if test.change != nil {
				region = region.with(test.change)
			}
			r := runProgram(t, options{cloud: &region, preview: true, config: map[string]string{"adminPrincipalArns": test.arns}})
			if test.refused == "" {
				require.NoError(t, r.err)
				assert.Equal(t, test.name == "not asked", len(r.warnings) > 0)
				return
			}
			_, printed := r.refused(t)
			assert.Contains(t, printed, test.refused)
			assert.Len(t, r.all(), 1, "nothing but the provider that asked")
		})
	}
}
