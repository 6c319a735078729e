package jobs_test

import (
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// recorder is the engine's side: it records inputs and answers with outputs.
type recorder struct {
	mu     sync.Mutex
	inputs map[string]resource.PropertyMap
	secret map[string][]string
}

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs[args.Name] = args.Inputs
	r.secret[args.Name] = args.RegisterRPC.GetAdditionalSecretOutputs()
	state := args.Inputs.Copy()
	state["verdict"] = resource.NewStringProperty("efa")
	state["attempt"] = resource.NewNumberProperty(3)
	state["ranks"] = resource.NewArrayProperty([]resource.PropertyValue{
		resource.NewObjectProperty(resource.PropertyMap{
			"rank":     resource.NewNumberProperty(0),
			"node":     resource.NewStringProperty("abc"),
			"host":     resource.NewStringProperty("worker-0"),
			"pid":      resource.NewNumberProperty(17),
			"file":     resource.NewStringProperty("rank0.log"),
			"network":  resource.NewStringProperty("Libfabric"),
			"provider": resource.NewStringProperty("efa"),
			"channels": resource.NewObjectProperty(resource.PropertyMap{"NET/Libfabric": resource.NewNumberProperty(4)}),
		}),
	})
	return args.Name + "-id", state, nil
}

func (r *recorder) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) { return nil, nil }

func args() *jobs.TrainingJobArgs {
	return &jobs.TrainingJobArgs{
		Kubeconfig:            pulumi.String("{}"),
		ClusterName:           pulumi.String("c"),
		Namespace:             pulumi.String("ray"),
		RayCluster:            pulumi.String("train"),
		ImageDigest:           pulumi.String("repo@sha256:00"),
		Environment:           pulumi.StringMap{"NCCL_NET": pulumi.String("Libfabric")},
		LaunchTemplateVersion: pulumi.String("1"),
		AMIRelease:            pulumi.String("1.36.0-20260101"),
		InstanceType:          pulumi.String("g6.12xlarge"),
		ChartVersions:         pulumi.StringMap{"kuberay-operator": pulumi.String("1.6.2")},
		RayClusterSpec:        pulumi.String("{}"),
		Training:              train.Config{Model: "tiny", Steps: 5, Device: train.CPU},
		Expectations:          jobs.Expectations{WorldSize: 8, Nodes: 2, Provider: "efa"},
		AWSRegion:             pulumi.String("us-east-2"),
	}
}

func run(t *testing.T, program pulumi.RunFunc) (*recorder, error) {
	t.Helper()
	mocks := &recorder{inputs: map[string]resource.PropertyMap{}, secret: map[string][]string{}}
	err := pulumi.RunErr(program, pulumi.WithMocks("project", "stack", mocks))
	return mocks, err
}

func TestTrainingJobRegistersItsInputs(t *testing.T) {
	t.Parallel()
	var ranks []report.Rank
	mocks, err := run(t, func(ctx *pulumi.Context) error {
		job, err := jobs.NewTrainingJob(ctx, "train", args())
		if err != nil {
			return err
		}
		ctx.Export("ranks", job.Ranks.ApplyT(func(r []report.Rank) int { ranks = r; return len(r) }))
		return nil
	})
	require.NoError(t, err)

	in := mocks.inputs["train"]
	require.NotNil(t, in)
	assert.True(t, in["kubeconfig"].IsSecret(), "the kubeconfig must be secret")
	assert.Equal(t, []string{"kubeconfig"}, mocks.secret["train"])
	assert.InDelta(t, 2, in["expectations"].ObjectValue()["nodes"].NumberValue(), 0)
	assert.Equal(t, "cpu", in["training"].ObjectValue()["device"].StringValue())
	assert.InDelta(t, 8, in["expectations"].ObjectValue()["worldSize"].NumberValue(), 0)
	assert.Equal(t, "Libfabric", in["environment"].ObjectValue()["NCCL_NET"].StringValue())

	require.Len(t, ranks, 1)
	assert.Equal(t, report.Rank{
		Node: "abc", Host: "worker-0", PID: 17, File: "rank0.log",
		Network: "Libfabric", Provider: "efa", Channels: map[string]int{"NET/Libfabric": 4},
	}, ranks[0])
}

func TestTrainingJobNamesEveryMissingArgument(t *testing.T) {
	t.Parallel()
	_, err := run(t, func(ctx *pulumi.Context) error {
		incomplete := args()
		incomplete.Kubeconfig = nil
		incomplete.ImageDigest = nil
		_, err := jobs.NewTrainingJob(ctx, "train", incomplete)
		return err
	})
	require.ErrorIs(t, err, jobs.ErrMissingArgument)
	assert.ErrorContains(t, err, `"kubeconfig"`)
	assert.ErrorContains(t, err, `"imageDigest"`)
}
