package cloudformation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cloudformation"
)

const (
	region         = "us-east-2"
	launchTemplate = "AwsEc2LaunchTemplateLaunchTemplateGpu"
)

// recorded returns some of the resources of a rehearsal's stack.
func recorded(t *testing.T) string {
	t.Helper()
	state, err := os.ReadFile(filepath.Join("testdata", "state.json"))
	require.NoError(t, err)
	return string(state)
}

// lint returns what cfn-lint reports about a state, one finding per line.
func lint(t *testing.T, state string) string {
	t.Helper()
	template, err := cloudformation.FromState([]byte(state))
	require.NoError(t, err)
	return lintTemplate(t, template)
}

func lintTemplate(t *testing.T, template cloudformation.Template) string {
	t.Helper()
	findings, err := cloudformation.Lint(
		t.Context(), program(t, "cloud-judges", "cfn-lint"), template, region)
	require.NoError(t, err)
	return joined(findings)
}

// program returns the path of a judge that `make judges` installs.
func program(t *testing.T, environment, name string) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	return filepath.Join(root, "bin", environment, "bin", name)
}

func joined(findings []cloudformation.Finding) string {
	var lines []string
	for _, finding := range findings {
		lines = append(lines, finding.String())
	}
	return strings.Join(lines, "\n")
}

func TestFromStateNestsAsCloudFormationDoes(t *testing.T) {
	t.Parallel()
	template, err := cloudformation.FromState([]byte(recorded(t)))
	require.NoError(t, err)
	require.Len(t, template.Resources, 8)
	gpu := template.Resources[launchTemplate]
	assert.Equal(t, "AWS::EC2::LaunchTemplate", gpu.Type)
	assert.NotContains(t, gpu.Properties, "NetworkInterfaces")
	assert.Equal(t, []any{map[string]any{
		"DeleteOnTermination": true, "DeviceIndex": 0.0, "InterfaceType": "efa", "NetworkCardIndex": 0.0,
		"Groups": []any{"sg-02550c5013404c48f", "sg-bd51c3b312ebca87e"},
	}}, gpu.Properties["LaunchTemplateData"].(map[string]any)["NetworkInterfaces"])
	group := template.Resources["AwsEksNodeGroupNodeGroupGpu"]
	assert.Equal(t, "true", group.Properties["Labels"].(map[string]any)["nvidia.com/gpu.present"],
		"a label is a string")
	assert.Equal(t, "rehearsal", group.Properties["Tags"].(map[string]any)["stack"])
}

func TestFromStateRefusesWhatItCannotConvert(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, state, want string }{
		{"no JSON", "pulumi", "reading the state: invalid character"},
		{"no resources", `{"deployment":{}}`, "the state has no AWS resources"},
		{
			"unknown type", strings.Replace(
				recorded(t), `"type": "aws:ec2/vpc:Vpc"`, `"type": "aws:ec2/host:Host"`, 1),
			`resource type "aws:ec2/host:Host" has no rule: add it to rules.go`,
		},
		{
			"two blocks", strings.Replace(recorded(t), `"self": true`, `"cidrBlocks": ["a", "b"]`, 1),
			"property cidrBlocks: 2 blocks; one is converted",
		},
		{
			"torn policy", strings.Replace(recorded(t), `"{\"Version\"`, `"{\"Version`, 1),
			`property "AssumeRolePolicyDocument"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudformation.FromState([]byte(test.state))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// Each row is a mistake that the emulated account might accept.
func TestCFNLintRefusesMistakes(t *testing.T) {
	t.Parallel()
	assert.Empty(t, lint(t, recorded(t)), "the recorded resources")
	for _, test := range []struct{ name, old, broken, want string }{
		{"nested input", `"networkCardIndex"`, `"networkCard"`, "'NetworkCard' was unexpected"},
		{"input that does not exist", `"instanceTypes"`, `"instanceKinds"`, "'InstanceKinds' was unexpected"},
		{"missing input", `"nodeRoleArn"`, `"taints"`, "'NodeRole' is a required property"},
		{"text for a Boolean", `"enableDnsSupport": true`, `"enableDnsSupport": "yes"`, "'yes' is not of type 'boolean'"},
		{"block size", `"10.42.0.0/16"`, `"10.42.0.0/8"`, "10.42.0.0/8"},
		{"AMI type", `"AL2023_x86_64_NVIDIA"`, `"AL2023_x86_64_GPU"`, "'AL2023_x86_64_GPU' is not one of"},
		{"log type", `"audit"`, `"audits"`, "'audits' is not one of"},
		{"policy", `\"Effect\":\"Allow\"`, `\"Effect\":\"Permit\"`, "'Permit' is not one of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := recorded(t)
			require.Contains(t, state, test.old)
			assert.Contains(t, lint(t, strings.Replace(state, test.old, test.broken, 1)), test.want)
		})
	}
}

func TestCheckovRefusesBadPractice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, broken, want string }{
		{"the recorded resources", "", "", ""},
		{"trusts everyone", `\"Service\":\"ec2.amazonaws.com\"`, `\"AWS\":\"*\"`, "CKV_AWS_60"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state := recorded(t)
			require.Contains(t, state, test.old)
			template, err := cloudformation.FromState(
				[]byte(strings.Replace(state, test.old, test.broken, 1)))
			require.NoError(t, err)
			findings, err := cloudformation.Checkov(
				t.Context(), program(t, "checkov", "checkov"), template)
			require.NoError(t, err)
			if test.want == "" {
				assert.Empty(t, findings)
			}
			assert.Contains(t, joined(findings), test.want)
		})
	}
}

func TestCheckovMustCheckSomething(t *testing.T) {
	t.Parallel()
	_, err := cloudformation.Checkov(
		t.Context(), program(t, "checkov", "checkov"), cloudformation.Template{})
	require.ErrorContains(t, err, "it checked nothing")
}

// cfn-lint knows the actions of each AWS service, and the form of ARNs and conditions.
func TestCFNLintAcceptsThePermissionsDocument(t *testing.T) {
	t.Parallel()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "permissions.json"))
	require.NoError(t, err)
	for _, test := range []struct{ name, old, broken, want string }{
		{"as it is", "", "", ""},
		{"unknown action", `"ec2:CreateVpc"`, `"ec2:CreateVirtualCloud"`, "'createvirtualcloud' is not one of"},
		{"unknown effect", `"Allow"`, `"Permit"`, "'Permit' is not one of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(text), test.old)
			var document map[string]any
			require.NoError(t, json.Unmarshal([]byte(strings.Replace(string(text), test.old, test.broken, 1)), &document))
			found := lintTemplate(t, cloudformation.Template{
				Version: "2010-09-09",
				Resources: map[string]cloudformation.Resource{"Permissions": {
					Type: "AWS::IAM::ManagedPolicy", Properties: map[string]any{"PolicyDocument": document},
				}},
			})
			if test.want == "" {
				assert.Empty(t, found)
			}
			assert.Contains(t, found, test.want)
		})
	}
}

func TestLintSaysHowToInstallCFNLint(t *testing.T) {
	t.Parallel()
	_, err := cloudformation.Lint(t.Context(), "/nonexistent/cfn-lint", cloudformation.Template{}, region)
	require.ErrorContains(t, err, "next: make judges")
}
