package awsprovider_test

import (
	"context"
	"encoding/json"
	"sort"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	presource "github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awsprovider"
)

// fakeCloud records requests and returns the responses of a test.
type fakeCloud struct {
	asked  api.ResourceRequest
	answer api.ResourceResponse
}

func (f *fakeCloud) Create(_ context.Context, r api.ResourceRequest) (api.ResourceResponse, error) {
	f.asked = r
	return f.answer, nil
}

func (f *fakeCloud) Read(_ context.Context, r api.ResourceRequest) (api.ResourceResponse, error) {
	f.asked = r
	return f.answer, nil
}

func (f *fakeCloud) Update(_ context.Context, r api.ResourceRequest) (api.ResourceResponse, error) {
	f.asked = r
	return f.answer, nil
}

func (f *fakeCloud) Delete(_ context.Context, r api.ResourceRequest) error {
	f.asked = r
	return nil
}

func (f *fakeCloud) Invoke(context.Context, api.InvokeRequest) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func newProvider(t *testing.T) (p.Provider, *fakeCloud) {
	t.Helper()
	cloud := &fakeCloud{}
	provider, err := awsprovider.New(cloud)
	require.NoError(t, err)
	return provider, cloud
}

func urnOf(token string) presource.URN {
	return presource.URN("urn:pulumi:test::bench::" + token + "::one")
}

// obj and arr write properties briefly.
func obj(pairs ...any) property.Map {
	values := map[string]property.Value{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i].(string)] = val(pairs[i+1])
	}
	return property.NewMap(values)
}

func val(v any) property.Value {
	switch v := v.(type) {
	case property.Value:
		return v
	case property.Map:
		return property.New(v)
	case string:
		return property.New(v)
	case int:
		return property.New(float64(v))
	case bool:
		return property.New(v)
	case []any:
		items := make([]property.Value, len(v))
		for i, one := range v {
			items[i] = val(one)
		}
		return property.New(items)
	default:
		panic("val: a test wrote a value of a kind that it does not know")
	}
}

func unknown() property.Value { return property.New(property.Computed) }

func TestCheck(t *testing.T) {
	provider, _ := newProvider(t)
	require.NoError(
		t,
		provider.Configure(context.Background(),
			p.ConfigureRequest{Args: obj("defaultTags", `{"tags":{"ttl":"8h"}}`)}),
	)
	for _, test := range []struct {
		name, token string
		old, in     property.Map
		want        property.Map
		failures    []string
	}{
		{
			name: "default tags under own ones", token: ec2.Vpcs.String(),
			in:   obj("cidrBlock", "10.0.0.0/16", "tags", obj("a", "b", "ttl", "1h")),
			want: obj("cidrBlock", "10.0.0.0/16", "tags", obj("a", "b", "ttl", "1h"), "tagsAll", obj("a", "b", "ttl", "1h"), "__defaults", []any{}),
		},
		{
			name: "an autoname is kept", token: ec2.PlacementGroups.String(),
			old:  obj("strategy", "cluster", "name", "one-1234567", "__defaults", []any{"name"}),
			in:   obj("strategy", "cluster"),
			want: obj("strategy", "cluster", "name", "one-1234567", "tagsAll", obj("ttl", "8h"), "__defaults", []any{"name"}),
		},
		{
			name: "a number becomes text where text is wanted", token: eks.NodeGroups.String(),
			in: obj("clusterName", "c", "nodeRoleArn", unknown(), "subnetIds", []any{unknown()}, "nodeGroupName", "n",
				"scalingConfig", obj("desiredSize", "2", "minSize", 0, "maxSize", 2), "launchTemplate", obj("id", "lt-1", "version", 3)),
			want: obj("clusterName", "c", "nodeRoleArn", unknown(), "subnetIds", []any{unknown()}, "nodeGroupName", "n",
				"scalingConfig", obj("desiredSize", 2, "minSize", 0, "maxSize", 2), "launchTemplate", obj("id", "lt-1", "version", "3"),
				"tagsAll", obj("ttl", "8h"), "__defaults", []any{}),
		},
		{
			name: "everything that is wrong, at once", token: eks.NodeGroups.String(),
			in: obj("scalingConfig", obj("desiredSize", true, "minSize", 0), "subnetIds", "subnet-1", "status", "ACTIVE", "colour", "red"),
			failures: []string{
				"clusterName", "colour", "nodeRoleArn", "scalingConfig.desiredSize", "scalingConfig.maxSize", "status", "subnetIds",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := provider.Check(
				context.Background(),
				p.CheckRequest{
					Urn:        urnOf(test.token),
					State:      test.old,
					Inputs:     test.in,
					RandomSeed: []byte("seed"),
				},
			)
			require.NoError(t, err)
			var failed []string
			for _, failure := range got.Failures {
				failed = append(failed, failure.Property)
			}
			sort.Strings(failed)
			assert.Equal(t, test.failures, failed)
			if test.failures == nil {
				assert.True(t, test.want.Equals(got.Inputs), "want %#v\ngot  %#v", test.want,
					got.Inputs)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	provider, _ := newProvider(t)
	group := func(pairs ...any) property.Map {
		return obj(append([]any{
			"clusterName", "c", "nodeGroupName", "n", "nodeRoleArn", "r", "subnetIds", []any{"a", "b"},
			"scalingConfig", obj("desiredSize", 2, "minSize", 0, "maxSize", 2),
		}, pairs...)...)
	}
	template := func(kind, id, version string) property.Map {
		return group(kind, obj("id", id, "version", version))
	}
	for _, test := range []struct {
		name, token string
		old, in     property.Map
		ignore      []string
		want        map[string]p.DiffKind
		first       bool
	}{
		{name: "nothing", token: eks.NodeGroups.String(), old: group(), in: group()},
		{
			name: "the order of subnets says nothing", token: eks.NodeGroups.String(),
			old: group(), in: group("subnetIds", []any{"b", "a"}),
		},
		{
			name: "more nodes in place", token: eks.NodeGroups.String(),
			old:  group(),
			in:   group("scalingConfig", obj("desiredSize", 3, "minSize", 0, "maxSize", 3)),
			want: map[string]p.DiffKind{"scalingConfig.desiredSize": p.Update, "scalingConfig.maxSize": p.Update},
		},
		{
			name: "ignored", token: eks.NodeGroups.String(),
			old:    group(),
			in:     group("scalingConfig", obj("desiredSize", 0, "minSize", 0, "maxSize", 2)),
			ignore: []string{"scalingConfig.desiredSize"},
		},
		{
			name: "another template version in place", token: eks.NodeGroups.String(),
			old:  template("launchTemplate", "lt-1", "1"),
			in:   template("launchTemplate", "lt-1", "2"),
			want: map[string]p.DiffKind{"launchTemplate.version": p.Update},
		},
		{
			name:  "another template replaces, and a group of a given name goes first",
			token: eks.NodeGroups.String(),
			old:   template("launchTemplate", "lt-1", "1"),
			in:    template("launchTemplate", "lt-2", "1"),
			want:  map[string]p.DiffKind{"launchTemplate.id": p.UpdateReplace}, first: true,
		},
		{
			name: "a name of Pulumi's own may exist twice", token: eks.NodeGroups.String(),
			old:  group("__defaults", []any{"nodeGroupName"}),
			in:   group("nodeRoleArn", "s", "__defaults", []any{"nodeGroupName"}),
			want: map[string]p.DiffKind{"nodeRoleArn": p.UpdateReplace},
		},
		{
			name: "a value that is not known yet replaces", token: ec2.Subnets.String(),
			old:  obj("vpcId", "vpc-1", "cidrBlock", "10.0.0.0/24"),
			in:   obj("vpcId", unknown(), "cidrBlock", "10.0.0.0/24"),
			want: map[string]p.DiffKind{"vpcId": p.UpdateReplace},
		},
		{
			name: "what AWS chooses may be left out", token: eks.NodeGroups.String(),
			old: group("releaseVersion", eks.DefaultRelease()), in: group(),
		},
		{
			name: "labels go", token: eks.NodeGroups.String(),
			old: group("labels", obj("role", "gpu")), in: group(),
			want: map[string]p.DiffKind{"labels": p.Delete},
		},
		{
			name: "one interface of two", token: ec2.LaunchTemplates.String(),
			old:  obj("name", "t", "networkInterfaces", []any{obj("deviceIndex", 0), obj("deviceIndex", 1)}),
			in:   obj("name", "t", "networkInterfaces", []any{obj("deviceIndex", 0, "interfaceType", "efa")}),
			want: map[string]p.DiffKind{"networkInterfaces[0].interfaceType": p.Add, "networkInterfaces[1]": p.Delete},
		},
		{
			name: "a secret is compared by what it holds", token: ec2.Vpcs.String(),
			old: obj("cidrBlock", "10.0.0.0/16"),
			in:  obj("cidrBlock", property.New("10.0.0.0/16").WithSecret(true)),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := provider.Diff(context.Background(), p.DiffRequest{
				Urn: urnOf(
					test.token), OldInputs: test.old, Inputs: test.in, IgnoreChanges: test.ignore,
			})
			require.NoError(t, err)
			kinds := map[string]p.DiffKind{}
			for path, diff := range got.DetailedDiff {
				kinds[path] = diff.Kind
			}
			if test.want == nil {
				test.want = map[string]p.DiffKind{}
			}
			assert.Equal(t, test.want, kinds)
			assert.Equal(t, len(test.want) > 0, got.HasChanges)
			assert.Equal(t, test.first, got.DeleteBeforeReplace)
		})
	}
}

func TestPreview(t *testing.T) {
	provider, cloud := newProvider(t)
	made, err := provider.Create(context.Background(), p.CreateRequest{
		Urn: urnOf(eks.Clusters.String()), DryRun: true,
		Properties: obj("name", "train", "roleArn", "r", "vpcConfig", obj("subnetIds", []any{"a"}),
			"__defaults", []any{}),
	})
	require.NoError(t, err)
	assert.Empty(t, cloud.asked, "a preview asks AWS for nothing")
	assert.Equal(t, "train", made.Properties.Get("name").AsString())
	for _, name := range []string{"endpoint", "certificateAuthority", "identities", "version", "arn"} {
		assert.True(t, made.Properties.Get(name).IsComputed(), name)
	}
	config := made.Properties.Get("vpcConfig").AsMap()
	assert.True(t, config.Get("clusterSecurityGroupId").IsComputed())
	assert.Equal(t, 1, config.Get("subnetIds").AsArray().Len())

	old := obj("name", "t", "instanceType", "g6.12xlarge")
	state := obj("name", "t", "instanceType", "g6.12xlarge", "latestVersion", 1, "arn", "x")
	for _, test := range []struct {
		name    string
		inputs  property.Map
		unknown bool
	}{
		{"new tags make no version", old.Set("tags", val(obj("a", "b"))), false},
		{"new data makes one", old.Set("instanceType", val("g6.48xlarge")), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed, err := provider.Update(context.Background(), p.UpdateRequest{
				Urn: urnOf(
					ec2.LaunchTemplates.String()), DryRun: true, State: state, OldInputs: old, Inputs: test.inputs,
			})
			require.NoError(t, err)
			assert.Equal(t, test.unknown, changed.Properties.Get("latestVersion").IsComputed())
			assert.Equal(t, "x", changed.Properties.Get("arn").AsString())
		})
	}
}

// TestReadShowsDrift reads a node group that was scaled outside Pulumi and a resource that is gone.
func TestReadShowsDrift(t *testing.T) {
	provider, cloud := newProvider(t)
	inputs := obj("clusterName", "c", "nodeGroupName", "n", "nodeRoleArn", "r", "subnetIds",
		[]any{"a"}, "forceUpdateVersion", false, "scalingConfig",
		obj("desiredSize", 2, "minSize", 0, "maxSize", 2), "labels", obj("role", "gpu"),
		"__defaults", []any{"nodeGroupName"})
	cloud.answer = api.ResourceResponse{
		ID: "c:n",
		Outputs: json.RawMessage(
			`{"clusterName":"c","nodeGroupName":"n","nodeRoleArn":"r","subnetIds":["a"],
		"scalingConfig":{"desiredSize":0,"minSize":0,"maxSize":2},"labels":{"role":"gpu"},"amiType":"AL2023_x86_64_NVIDIA","status":"ACTIVE"}`,
		),
	}
	got, err := provider.Read(context.Background(),
		p.ReadRequest{ID: "c:n", Urn: urnOf(eks.NodeGroups.String()), Inputs: inputs})
	require.NoError(t, err)
	want := inputs.Set("scalingConfig", val(obj("desiredSize", 0, "minSize", 0, "maxSize", 2)))
	assert.True(t, want.Equals(got.Inputs), "want %#v\ngot  %#v", want, got.Inputs)
	assert.Equal(t, "ACTIVE", got.Properties.Get("status").AsString())

	cloud.answer = api.ResourceResponse{}
	gone, err := provider.Read(context.Background(),
		p.ReadRequest{ID: "c:n", Urn: urnOf(eks.NodeGroups.String()), Inputs: inputs})
	require.NoError(t, err)
	assert.Empty(t, gone.ID)
}

func TestCreateFailedHalfway(t *testing.T) {
	provider, cloud := newProvider(t)
	cloud.answer = api.ResourceResponse{
		ID: "c:n", Outputs: json.RawMessage(`{"status":"CREATE_FAILED","clusterName":"c"}`),
		Failed: &api.Error{Code: "InsufficientInstanceCapacity", Message: "no g6.12xlarge"},
	}
	got, err := provider.Create(context.Background(), p.CreateRequest{
		Urn:        urnOf(eks.NodeGroups.String()),
		Properties: obj("clusterName", property.New("c").WithSecret(true), "__defaults", []any{}),
	})
	require.ErrorContains(t, err, "InsufficientInstanceCapacity",
		"partial state without an error ends the framework in a panic")
	assert.Equal(t, "c:n", got.ID, "what exists goes into the state")
	require.NotNil(t, got.PartialState)
	assert.Equal(t, []string{"no g6.12xlarge"}, got.PartialState.Reasons)
	assert.True(t, got.Properties.Get("clusterName").Secret(), "a secret stays one")
	assert.JSONEq(t, `{"clusterName":"c"}`, string(cloud.asked.Inputs))
}

func TestConfigRefusesUnknownSettings(t *testing.T) {
	provider, _ := newProvider(t)
	got, err := provider.CheckConfig(context.Background(),
		p.CheckRequest{Inputs: obj("region", "us-east-2", "regoin", "x")})
	require.NoError(t, err)
	require.Len(t, got.Failures, 1)
	assert.Equal(t, "regoin", got.Failures[0].Property)

	diff, err := provider.DiffConfig(context.Background(),
		p.DiffRequest{OldInputs: obj("region", "us-east-2"), Inputs: obj("region", "us-west-2")})
	require.NoError(t, err)
	assert.Equal(t, p.UpdateReplace, diff.DetailedDiff["region"].Kind)
}
