package gate_test

import (
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

func TestCheckNamesEveryBadInput(t *testing.T) {
	t.Parallel()
	set := func(key, field string, value property.Value) func(*world) {
		return func(w *world) {
			w.inputs[key] = property.New(w.inputs[key].AsMap().Set(field, value))
		}
	}
	put := func(key string, value property.Value) func(*world) {
		return func(w *world) { w.inputs[key] = value }
	}
	tests := []struct {
		property string
		harm     func(*world)
		says     string
	}{
		{"kubeconfig", put("kubeconfig", property.New("x")), "kubeconfig"},
		{"clusterName", put("clusterName", property.New("")), "empty"},
		{"imageDigest", put("imageDigest", property.New("repo:latest")), "raytrain image pin"},
		{"environment", set("environment", "RAYTRAIN_NONCE", property.New("x")), "reserved"},
		{"environment", set("environment", "HF_TOKEN", property.New("x").WithSecret(true)), "secret"},
		{"environment", set("environment", "NCCL_DEBUG", property.New("WARN")), "allowed: INFO"},
		{"environment", set("environment", "NCCL_DEBUG_SUBSYS", property.New("NET")), "hides lines"},
		{"startupSeconds", put("startupSeconds", property.New(0.0)), "1 or more"},
		{"deadlineSeconds", put("deadlineSeconds", property.New(-1.0)), "1 or more"},
		{"training", set("training", "device", property.New("tpu")), `["cuda" "cpu"]`},
		{"training", set("training", "steps", property.New(0.0)), "steps 0"},
		{"training", set("training", "model", property.New("")), "model"},
		{"workingDir", put("workingDir", property.New("train")), "set entrypoint"},
		{"pip", put("pip", property.New([]property.Value{property.New("einops")})), "set entrypoint"},
		{"environment", set("environment", "WANDB_API_KEY", property.New("x")), "Kubernetes Secret"},
		{"expectations", set("expectations", "worldSize", property.New(7.0)), "is 8"},
		{"expectations", set("expectations", "nodes", property.New(1.0)), "2 or more"},
		{"expectations", set("expectations", "provider", property.New("tcp")), `"efa"`},
	}
	w := newWorld(t)
	all := map[string]bool{}
	for _, test := range tests {
		one := newWorld(t)
		test.harm(one)
		check, err := one.server.Check(t.Context(), p.CheckRequest{Urn: one.urn, Inputs: property.NewMap(one.inputs)})
		require.NoError(t, err)
		require.Len(t, check.Failures, 1, "%s", test.property)
		assert.Equal(t, test.property, check.Failures[0].Property)
		assert.Contains(t, check.Failures[0].Reason, test.says)
		test.harm(w)
		all[test.property] = true
	}
	check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
	require.NoError(t, err)
	assert.Len(t, check.Failures, len(all), "every bad input is reported at once")
}

func TestCheckRefusesANameThatMakesNoID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.urn = resource.NewURN("stack", "project", "", jobs.TrainingJobToken, "My_Job")
	check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
	require.NoError(t, err)
	require.Len(t, check.Failures, 1)
	assert.Contains(t, check.Failures[0].Reason, "My_Job")
}

func TestCheckReportsAMissingInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delete(w.inputs, "namespace")
	check, err := w.server.Check(t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
	require.NoError(t, err)
	require.Len(t, check.Failures, 1)
	assert.Equal(t, "namespace", check.Failures[0].Property)
}

func TestImportIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.server.Read(t.Context(), p.ReadRequest{ID: "train-00000000", Urn: w.urn})
	require.ErrorContains(t, err, "cannot be imported")
	_, err = w.server.Read(t.Context(), p.ReadRequest{ID: "x", Urn: w.urn})
	require.ErrorContains(t, err, "not created by this provider")
}
