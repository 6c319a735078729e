package awsprovider_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/vpc"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	accountec2 "github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
)

// bench is an emulated AWS account behind the real engine.
type bench struct {
	account *account.Account
	cloud   *client.Client
	stack   auto.Stack
	log     *bytes.Buffer
}

// pluginDir is where the tests of this package share one built plugin.
var pluginDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pulumi-resource-aws")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pluginDir = dir
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// buildPlugin builds the plugin from the sources as they are, once.
func buildPlugin(t *testing.T, root string) (bin string) {
	t.Helper()
	plugin := filepath.Join(pluginDir, "pulumi-resource-aws")
	if _, err := os.Stat(plugin); err == nil {
		return pluginDir
	}
	build := exec.Command("go", "build", "-o", plugin, "./rehearsal/cmd/pulumi-resource-aws")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return pluginDir
}

// newBench builds the plugin, starts an account and makes an empty stack. It fails, and
// does not skip, where the toolchain is missing: a test that skips proves nothing.
func newBench(t *testing.T, program pulumi.RunFunc) *bench {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	engine := filepath.Join(root, "bin", "pulumi")
	_, err = os.Stat(engine)
	require.NoError(t, err, "the Pulumi engine is not there; run make setup")

	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "backend"), 0o755))
	bin := buildPlugin(t, root)

	cloud, err := account.Open(account.Options{Dir: dir, Runtime: newEmptyRuntime(t)})
	require.NoError(t, err)
	server := httptest.NewServer(cloud.Handler())
	t.Cleanup(server.Close)
	require.NoError(
		t,
		os.WriteFile(filepath.Join(dir, client.EndpointFile), []byte(`{"aws":"`+server.URL+`"}`),
			0o600),
	)

	t.Setenv("PATH", bin+":"+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	project := workspace.Project{
		Name: tokens.PackageName("bench"), Runtime: workspace.NewProjectRuntimeInfo("go", nil),
		Backend: &workspace.ProjectBackend{URL: "file://" + filepath.Join(dir, "backend")},
	}
	stack, err := auto.UpsertStackInlineSource(context.Background(), "test", "bench", program,
		auto.Project(project), auto.WorkDir(t.TempDir()),
		auto.EnvVars(map[string]string{
			client.EnvDir: dir, "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_SKIP_UPDATE_CHECK": "true",
			"PULUMI_HOME": filepath.Join(dir,
				"home"), "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		}))
	require.NoError(t, err)
	require.NoError(t,
		stack.SetConfig(context.Background(), "aws:region", auto.ConfigValue{Value: "us-east-2"}))
	return &bench{account: cloud, cloud: client.New(server.URL), stack: stack, log: &bytes.Buffer{}}
}

// emptyRuntime is a runtime with empty control planes.
type emptyRuntime struct{ endpoints api.ClusterEndpoints }

func newEmptyRuntime(t *testing.T) emptyRuntime {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return emptyRuntime{
		api.ClusterEndpoints{Endpoint: server.URL, CAData: base64.StdEncoding.EncodeToString(ca)},
	}
}

func (r emptyRuntime) ClusterCreated(context.Context,
	api.ClusterSpec) (api.ClusterEndpoints, error) {
	return r.endpoints, nil
}

func (emptyRuntime) ClusterDeleted(context.Context, string) error { return nil }

func (emptyRuntime) NodesChanged(context.Context, string, []api.NodeSpec) error { return nil }

func (emptyRuntime) AddonChanged(context.Context, string, []api.AddonSpec) error { return nil }

func (b *bench) up(ctx context.Context, opts ...optup.Option) (auto.UpResult, error) {
	b.log.Reset()
	return b.stack.Up(
		ctx,
		append(opts, optup.ProgressStreams(b.log), optup.ErrorProgressStreams(b.log))...)
}

// network is a program with the smallest useful network: the block of its subnet can be
// changed from outside.
type network struct {
	subnet string
	tags   pulumi.StringMap
}

func (n *network) run(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{
		Region: pulumi.String("us-east-2"),
		DefaultTags: aws.ProviderDefaultTagsArgs{
			Tags: pulumi.StringMap{"ttl": pulumi.String("8h")},
		},
	})
	if err != nil {
		return err
	}
	opts := []pulumi.ResourceOption{pulumi.Provider(provider)}
	zones, err := aws.GetAvailabilityZones(ctx,
		&aws.GetAvailabilityZonesArgs{State: pulumi.StringRef("available")},
		pulumi.Provider(provider))
	if err != nil {
		return err
	}
	made, err := ec2.NewVpc(
		ctx,
		"vpc",
		&ec2.VpcArgs{
			CidrBlock:          pulumi.String("10.0.0.0/16"),
			EnableDnsHostnames: pulumi.Bool(true),
			Tags:               n.tags,
		},
		opts...)
	if err != nil {
		return err
	}
	subnet, err := ec2.NewSubnet(ctx, "nodes", &ec2.SubnetArgs{
		VpcId: made.ID(), CidrBlock: pulumi.String(n.subnet),
		AvailabilityZone: pulumi.String(zones.Names[0]),
	}, opts...)
	if err != nil {
		return err
	}
	group, err := ec2.NewSecurityGroup(
		ctx,
		"efa",
		&ec2.SecurityGroupArgs{VpcId: made.ID()},
		opts...)
	if err != nil {
		return err
	}
	_, err = vpc.NewSecurityGroupEgressRule(ctx, "efa-self", &vpc.SecurityGroupEgressRuleArgs{
		SecurityGroupId: group.ID(), ReferencedSecurityGroupId: group.ID(),
		IpProtocol: pulumi.String("-1"),
	}, opts...)
	ctx.Export("vpc", made.ID())
	ctx.Export("subnet", subnet.ID())
	ctx.Export("subnetTags",
		subnet.TagsAll) //nolint:staticcheck // deprecated, and filled by the provider all the same: the test is about that
	ctx.Export("groupName", group.Name)
	return err
}

func TestEngineUpAgainRefreshDestroy(t *testing.T) {
	ctx := context.Background()
	program := &network{subnet: "10.0.0.0/17"}
	b := newBench(t, program.run)

	preview, err := b.stack.Preview(ctx, optpreview.ProgressStreams(io.Discard))
	require.NoError(t, err)
	assert.Equal(t, 6, preview.ChangeSummary[apitype.OpCreate],
		"stack, provider, VPC, subnet, group and rule")

	first, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Equal(t, map[string]any{"ttl": "8h"}, first.Outputs["subnetTags"].Value,
		"default tags reach each resource")
	assert.Regexp(t, `^efa-[0-9a-f]{7}$`, first.Outputs["groupName"].Value,
		"a group without a name gets one of Pulumi's")

	again, err := b.up(ctx, optup.ExpectNoChanges())
	require.NoError(t, err, b.log.String())
	assert.Equal(t, first.Outputs["groupName"], again.Outputs["groupName"])

	refreshed, err := b.stack.Refresh(ctx)
	require.NoError(t, err)
	assert.Zero(t, (*refreshed.Summary.ResourceChanges)["update"],
		"a refresh of an untouched account finds nothing")

	// A subnet's block cannot change in place.
	program.subnet = "10.0.128.0/17"
	_, err = b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Contains(t, b.log.String(), "replace")

	program.tags = pulumi.StringMap{"team": pulumi.String("research")}
	changed, err := b.up(ctx)
	require.NoError(t, err, b.log.String())
	assert.Equal(t, 1, (*changed.Summary.ResourceChanges)["update"])

	// Something that Pulumi does not know of stands in the way, as leaked interfaces do.
	id, ok := first.Outputs["vpc"].Value.(string)
	require.True(t, ok)
	foreign, err := b.cloud.Create(ctx, api.ResourceRequest{
		Type:   accountec2.SecurityGroups.String(),
		Inputs: json.RawMessage(`{"name":"foreign","vpcId":"` + id + `"}`),
	})
	require.NoError(t, err)
	_, err = b.stack.Destroy(ctx, optdestroy.ProgressStreams(b.log))
	require.Error(t, err)
	assert.Contains(t, b.log.String(),
		"api error DependencyViolation: The vpc '"+id+"' has dependencies and cannot be deleted.")
	assert.Contains(t, b.log.String(), foreign.ID)

	require.NoError(
		t,
		b.cloud.Delete(ctx,
			api.ResourceRequest{Type: accountec2.SecurityGroups.String(), ID: foreign.ID}),
	)
	_, err = b.stack.Destroy(ctx, optdestroy.ProgressStreams(b.log))
	require.NoError(t, err, b.log.String())
	assert.Empty(t, b.account.Inventory().Items)
}

func TestEngineRefusesInputs(t *testing.T) {
	var program pulumi.RunFunc
	b := newBench(t, func(ctx *pulumi.Context) error { return program(ctx) })
	for _, test := range []struct {
		name    string
		program pulumi.RunFunc
		want    []string
	}{
		{
			name: "an unknown property",
			program: func(ctx *pulumi.Context) error {
				return register(ctx, "aws:ec2/vpc:Vpc", pulumi.Map{"cidrBlock": pulumi.String("10.0.0.0/16"), "cidrBlok": pulumi.String("x")})
			},
			want: []string{`no input "cidrBlok"`, "cidrBlock"},
		},
		{
			name: "a missing property",
			program: func(ctx *pulumi.Context) error {
				return register(ctx, "aws:ec2/subnet:Subnet", pulumi.Map{"cidrBlock": pulumi.String("10.0.0.0/16")})
			},
			want: []string{"Missing required argument", `"vpcId"`},
		},
		{
			name: "a type that is not rehearsed",
			program: func(ctx *pulumi.Context) error {
				return register(ctx, "aws:ec2/instance:Instance", pulumi.Map{})
			},
			want: []string{"aws:ec2/instance:Instance", "aws:ec2/vpc:Vpc"},
		},
		{
			name: "AWS's own refusal",
			program: func(ctx *pulumi.Context) error {
				return register(ctx, "aws:ec2/vpc:Vpc", pulumi.Map{"cidrBlock": pulumi.String("10.0.0.0/8")})
			},
			want: []string{"EC2: CreateVpc", "InvalidVpc.Range"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			program = test.program
			_, err := b.up(context.Background())
			require.Error(t, err)
			for _, want := range test.want {
				assert.Contains(t, b.log.String(), want)
			}
		})
	}
}

func register(ctx *pulumi.Context, token string, inputs pulumi.Map) error {
	var made pulumi.CustomResourceState
	return ctx.RegisterResource(token, "one", inputs, &made)
}

// resources are what the engine's state holds.
func (b *bench) resources(t *testing.T) []apitype.ResourceV3 {
	t.Helper()
	exported, err := b.stack.Export(context.Background())
	require.NoError(t, err)
	var state apitype.DeploymentV3
	require.NoError(t, json.Unmarshal(exported.Deployment, &state))
	return state.Resources
}
