package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/cluster"
)

func TestAFailedResourceIsExplained(t *testing.T) {
	t.Parallel()
	tests := []struct {
		broken resourceName
		reason string
		says   []string
	}{
		{resourceName{nodeGroup, "gpu"}, "unexpected state 'CREATE_FAILED'. last error: AsgInstanceLaunchFailures: InsufficientInstanceCapacity - no g6.12xlarge", []string{
			`failed: could not create aws:eks:NodeGroup "gpu" (no-capacity)`, "no capacity for 2 x g6.12xlarge in us-east-2b",
			"availabilityZone us-east-2c", "at most $9.67 per hour",
		}},
		{resourceName{nodeGroup, "gpu"}, "last error: AsgInstanceLaunchFailures: VcpuLimitExceeded", []string{"(vcpu-quota)", "--quota-code L-DB2E81BA"}},
		{resourceName{"aws:ec2/vpc:Vpc", "vpc"}, "VpcLimitExceeded: The maximum number of VPCs has been reached.", []string{"(vpc-quota)"}},
		{resourceName{release, "kuberay-operator"}, "failed to become available within allocated timeout", []string{"(release-timeout)", "$0.47 without GPU nodes"}},
	}
	for _, test := range tests {
		t.Run(test.says[0], func(t *testing.T) {
			t.Parallel()
			r := runProgram(t, options{breaks: map[resourceName]string{test.broken: test.reason}})
			require.ErrorContains(t, r.err, test.reason, "the provider's own words stay")
			said := strings.Join(r.log, "\n")
			require.Len(t, r.refusals, 1)
			assert.Contains(t, said, r.refusals[0].Error(), "the event log has what is printed")
			for _, text := range test.says {
				assert.Contains(t, said, text)
			}
		})
	}
}

// Pulumi keeps the outputs of the last green update unless the failed one replaces them in time.
func TestAFailedUpdateHasNoVerdict(t *testing.T) {
	t.Parallel()
	for _, broken := range []resourceName{
		{"aws:ec2/vpc:Vpc", "vpc"}, {nodeGroup, "gpu"}, {release, "kuberay-operator"}, {trainingJob, "gate"},
	} {
		for _, enabled := range []string{"true", "false"} {
			if broken.typ == trainingJob && enabled == "false" {
				continue
			}
			t.Run(broken.name+", job "+enabled, func(t *testing.T) {
				t.Parallel()
				r := runProgram(t, options{
					config: map[string]string{"job.enabled": enabled}, breaks: map[resourceName]string{broken: "boom"},
				})
				require.Error(t, r.err)
				assert.Equal(t, "none", r.export(t, "verdict"))
				assert.Contains(t, r.export(t, "evidence"), "the last update did not pass")
				for _, name := range []string{"submissionId", "reportPath", "reportPage", "stepsPerSecond"} {
					assert.Empty(t, r.export(t, name), name)
				}
			})
		}
	}
}

// Without the hook only the provider's error is printed.
func TestEveryResourceOfAWSAndKubernetesIsExplained(t *testing.T) {
	t.Parallel()
	for _, made := range green(t, options{}).all() {
		provided := strings.HasPrefix(made.typ, "aws:") || strings.HasPrefix(made.typ, "kubernetes:")
		switch {
		case made.typ == trainingJob:
			assert.Equal(t, []string{"gate-failed"}, made.onError, "it explains itself")
		case made.custom && provided:
			assert.Equal(t, []string{"explain-failure"}, made.onError, made.urn)
		default:
			assert.Empty(t, made.onError, made.urn)
		}
	}
}

// A refresh takes the error of a failed group out of the state. The gate would wait for its nodes.
func TestAFailedNodeGroupIsSeenAfterARefresh(t *testing.T) {
	t.Parallel()
	for status, refused := range map[string]bool{"ACTIVE": false, "CREATE_FAILED": true, "DELETE_FAILED": true} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			r := runProgram(t, options{gpuStatus: status})
			if !refused {
				require.NoError(t, r.err)
				return
			}
			require.Error(t, r.err)
			printed := strings.Join(r.log, "\n")
			assert.Contains(t, printed, "the GPU node group is "+status+" (node-group-failed)")
			assert.Contains(t, printed, "next:     pulumi up --replace 'urn:pulumi:")
			require.NotEmpty(t, r.refusals)
			assert.Equal(t, cluster.CodeNodeGroup, r.refusals[0].Code)
			assert.Empty(t, r.ofType(trainingJob))
		})
	}
}
