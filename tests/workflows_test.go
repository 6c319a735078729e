package tests

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const workflowsDir = "../.github/workflows"

// workflows returns the workflows of GitHub Actions by file name.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(workflowsDir, "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[filepath.Base(path)] = string(text)
	}
	return texts
}

// actionlintPackage is built at this version apart from this module, because it needs another version
// of a YAML parser.
const actionlintPackage = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

// lintWorkflow returns what actionlint reports about a workflow.
func lintWorkflow(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workflow.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	command := exec.CommandContext(t.Context(), "go", "run", actionlintPackage, "-no-color", path)
	var report, problem strings.Builder
	command.Stdout, command.Stderr = &report, &problem
	err := command.Run()
	require.Equal(t, err != nil, report.Len() > 0, problem.String())
	return report.String()
}

func TestActionlintAcceptsTheWorkflows(t *testing.T) {
	t.Parallel()
	for name, text := range workflows(t) {
		assert.Empty(t, lintWorkflow(t, text), name)
	}
}

func TestActionlintRefusesMistakesInWorkflows(t *testing.T) {
	t.Parallel()
	preview := workflows(t)["preview.yml"]
	for _, test := range []struct{ name, old, broken, want string }{
		{"unknown context", "github.token", "github.tokens", `property "tokens" is not defined`},
		{"unknown permission", "pull-requests: write", "pull-request: write", "unknown permission scope"},
		{"input in a script", `"$STACK"`, "${{ github.head_ref }}", "potentially untrusted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, preview, test.old)
			assert.Contains(t, lintWorkflow(t, strings.ReplaceAll(preview, test.old, test.broken)), test.want)
		})
	}
}

// zizmor returns what zizmor reports about a workflow. It checks security, which actionlint does not.
func zizmor(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workflow.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	command := exec.CommandContext(t.Context(), "../bin/cloud-judges/bin/zizmor",
		"--offline", "--no-progress", "--quiet", "--format", "json", path)
	out, err := command.Output()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "running zizmor: %v; next: make judges", err)
	var findings []struct{ Ident, Desc string }
	require.NoError(t, json.Unmarshal(out, &findings), string(out))
	var lines []string
	for _, finding := range findings {
		lines = append(lines, finding.Ident+": "+finding.Desc)
	}
	return strings.Join(lines, "\n")
}

func TestZizmorAcceptsTheWorkflows(t *testing.T) {
	t.Parallel()
	for name, text := range workflows(t) {
		assert.Empty(t, zizmor(t, text), name)
	}
	preview := workflows(t)["preview.yml"]
	for _, test := range []struct{ old, broken, want string }{
		{"pulumi/actions@8e5e406f4007fca908480587cb9893c07090f58d", "pulumi/actions@v7", "unpinned-uses"},
		{"on:\n  pull_request:", "on:\n  pull_request_target:", "dangerous-triggers"},
		{"persist-credentials: false", "fetch-depth: 1", "artipacked"},
	} {
		require.Contains(t, preview, test.old)
		assert.Contains(t, zizmor(t, strings.Replace(preview, test.old, test.broken, 1)), test.want)
	}
}

// A tag can move to other code, and these jobs have credentials.
func TestWorkflowsPinActionsAndGrantNothingByDefault(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+$`)
	for name, text := range workflows(t) {
		assert.Contains(t, text, "\npermissions: {}\n", name)
		for line := range strings.Lines(text) {
			_, action, found := strings.Cut(strings.TrimSpace(line), "uses: ")
			if found {
				assert.Regexp(t, pinned, strings.TrimSpace(action), name)
			}
		}
	}
}

// comment returns the comment of a pull request for a preview with that exit status, output and
// events.
func comment(t *testing.T, exit, output, events string) string {
	t.Helper()
	script, err := filepath.Abs("../.github/comment.sh")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "preview.txt"), []byte(output), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(events), 0o600))
	command := exec.CommandContext(t.Context(), "sh", script)
	command.Dir = dir
	command.Env = append(os.Environ(), "DRY_RUN=1", "STACK=dev", "EXIT="+exit, "RAYTRAIN_EVENTS=events.jsonl")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestCommentOfAPullRequest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed; GitHub's runners have it")
	}
	refused, err := json.Marshal(map[string]any{"refusal": map[string]string{
		"code": "quota-too-low", "cause": "the quota is 0", "next": "aws service-quotas",
	}})
	require.NoError(t, err)
	text := comment(t, "0", "Resources:\n    + 49 to create\n", `{"hourlyUsd":9.5548}`+"\n")
	assert.Contains(t, text, "$9.5548 per hour")
	assert.Contains(t, text, "no refusal")
	assert.Contains(t, text, "- + 49 to create")

	assert.NotContains(t, text, "- replace", "a new stack has a number of creates only")

	text = comment(t, "0", `  pulumi:pulumi:Stack: (same)
    [urn=urn:pulumi:dev::ray-train-efa::pulumi:pulumi:Stack::ray-train-efa-dev]
        +-aws:eks/nodeGroup:NodeGroup: (replace)
            [id=train:gpu-1]
            [urn=urn:pulumi:dev::ray-train-efa::ray-train-efa:cluster:Cluster$aws:eks/nodeGroup:NodeGroup::gpu]
      ~ releaseVersion: "a" => "b"
        + aws:ec2/vpc:Vpc: (create)
            [urn=urn:pulumi:dev::ray-train-efa::aws:ec2/vpc:Vpc::vpc]
        ~ aws:eks/addon:Addon: (update)
            [urn=urn:pulumi:dev::ray-train-efa::aws:eks/addon:Addon::coredns]
`, "")
	assert.Contains(t, text, "- replace `gpu` (aws:eks/nodeGroup:NodeGroup)\n- update `coredns` (aws:eks/addon:Addon)\n")
	assert.NotContains(t, text, "`vpc`")

	text = comment(t, "1", "error", string(refused)+"\n")
	assert.Contains(t, text, "failed")
	assert.Contains(t, text, "- `quota-too-low`: the quota is 0")
	assert.NotContains(t, text, "no refusal")

	text = comment(t, "1", "error", "")
	assert.Contains(t, text, "**Price:** unknown")
	assert.Contains(t, text, "**Capacity, quota and settings:** unknown.")
	assert.NotContains(t, text, "no refusal")
}
