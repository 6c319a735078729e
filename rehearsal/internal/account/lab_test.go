package account

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// props are a resource's properties in a test.
type props map[string]any

// lab is an account with the stack that the program makes, step by step, so that a test
// can break one step.
type lab struct {
	t       *testing.T
	dir     string
	now     time.Time
	account *Account
	runtime *fakeRuntime
	// change edits a step's inputs before it runs; a step that it deletes is left out.
	change map[string]func(props)
	skip   map[string]bool
	ids    map[string]string
	out    map[string]props
	order  []string
}

// fakeRuntime records what the account asks for.
type fakeRuntime struct {
	mu       sync.Mutex
	clusters []string
	nodes    []api.NodeSpec
	addons   []api.AddonSpec
	err      error
}

func (f *fakeRuntime) ClusterCreated(_ context.Context,
	c api.ClusterSpec) (api.ClusterEndpoints, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clusters = append(f.clusters, c.Name)
	return api.ClusterEndpoints{Endpoint: "https://127.0.0.1:6443", CAData: "Y2E="}, f.err
}

func (f *fakeRuntime) ClusterDeleted(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clusters = nil
	return f.err
}

func (f *fakeRuntime) NodesChanged(_ context.Context, _ string, nodes []api.NodeSpec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = nodes
	return f.err
}

func (f *fakeRuntime) AddonChanged(_ context.Context, _ string, addons []api.AddonSpec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addons = addons
	return f.err
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{
		t: t, runtime: &fakeRuntime{}, change: map[string]func(props){}, skip: map[string]bool{},
		ids: map[string]string{}, out: map[string]props{},
		dir: t.TempDir(), now: time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC),
	}
	l.account = l.open(l.runtime)
	return l
}

// open opens the lab's account, as it is on disk, with a runtime.
func (l *lab) open(runtime api.Runtime) *Account {
	l.t.Helper()
	a, err := Open(Options{Dir: l.dir, Runtime: runtime, Now: func() time.Time { return l.now }})
	require.NoError(l.t, err)
	return a
}

// create creates one resource; a failed resource is an error too.
func (l *lab) create(step, token string, inputs props) error {
	if l.skip[step] {
		return nil
	}
	if edit := l.change[step]; edit != nil {
		edit(inputs)
	}
	body, err := json.Marshal(inputs)
	require.NoError(l.t, err)
	answer, err := l.account.store.Create(context.Background(), token, body)
	if err != nil {
		return err
	}
	l.ids[step] = answer.ID
	out := props{}
	require.NoError(l.t, json.Unmarshal(answer.Outputs, &out))
	l.out[step] = out
	l.order = append(l.order, step+" "+token)
	if answer.Failed != nil {
		return answer.Failed
	}
	return nil
}

func (l *lab) update(step, token string, inputs props) error {
	body, err := json.Marshal(inputs)
	require.NoError(l.t, err)
	answer, err := l.account.store.Update(context.Background(), token, l.ids[step], body)
	if err != nil {
		return err
	}
	if answer.Failed != nil {
		return answer.Failed
	}
	return nil
}

func (l *lab) delete(step, token string) error {
	return l.account.store.Delete(context.Background(), token, l.ids[step])
}

// step is one resource of the stack. Its inputs are made when its turn comes.
type step struct {
	name, token string
	inputs      func() props
}

func trust(service string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `"},"Action":"sts:AssumeRole"}]}`
}

// network, identity, control and workers are the stack in the order of its creation.
func (l *lab) network() []step {
	subnet := func(name, block, zone string) step {
		return step{name, ec2.Subnets.String(), func() props {
			return props{"vpcId": l.ids["vpc"], "cidrBlock": block, "availabilityZone": zone}
		}}
	}
	associate := func(subnet, table string) step {
		return step{subnet + "-" + table, ec2.Associations.String(), func() props {
			return props{"subnetId": l.ids[subnet], "routeTableId": l.ids[table]}
		}}
	}
	table := func(name string) step {
		return step{
			name,
			ec2.RouteTables.String(),
			func() props { return props{"vpcId": l.ids["vpc"]} },
		}
	}
	return []step{
		{"vpc", ec2.Vpcs.String(), func() props {
			return props{
				"cidrBlock":          "10.0.0.0/16",
				"enableDnsHostnames": true,
				"enableDnsSupport":   true,
			}
		}},
		subnet("nodes", "10.0.0.0/17", "us-east-2a"),
		subnet("public", "10.0.128.0/20", "us-east-2a"),
		subnet("control", "10.0.144.0/20", "us-east-2b"),
		{
			"igw",
			ec2.InternetGateways.String(),
			func() props { return props{"vpcId": l.ids["vpc"]} },
		},
		table("public-table"),
		table("private-table"),
		{"public-route", ec2.Routes.String(), func() props {
			return props{
				"routeTableId":         l.ids["public-table"],
				"destinationCidrBlock": ec2.AnyIPv4,
				"gatewayId":            l.ids["igw"],
			}
		}},
		associate("public", "public-table"),
		{"eip", ec2.Eips.String(), func() props { return props{"domain": "vpc"} }},
		{"nat", ec2.NatGateways.String(), func() props {
			return props{"subnetId": l.ids["public"], "allocationId": l.ids["eip"]}
		}},
		{"private-route", ec2.Routes.String(), func() props {
			return props{
				"routeTableId":         l.ids["private-table"],
				"destinationCidrBlock": ec2.AnyIPv4,
				"natGatewayId":         l.ids["nat"],
			}
		}},
		associate("nodes", "private-table"),
		associate("control", "private-table"),
		{"s3", ec2.VpcEndpoints.String(), func() props {
			return props{
				"vpcId":           l.ids["vpc"],
				"serviceName":     "com.amazonaws.us-east-2.s3",
				"vpcEndpointType": "Gateway",
				"routeTableIds":   []string{l.ids["private-table"]},
			}
		}},
		{
			"efa",
			ec2.SecurityGroups.String(),
			func() props { return props{"name": "efa", "vpcId": l.ids["vpc"]} },
		},
		{"efa-in", ec2.IngressRules.String(), func() props {
			return props{
				"securityGroupId":           l.ids["efa"],
				"referencedSecurityGroupId": l.ids["efa"],
				"ipProtocol":                "-1",
			}
		}},
		{"efa-out", ec2.EgressRules.String(), func() props {
			return props{
				"securityGroupId":           l.ids["efa"],
				"referencedSecurityGroupId": l.ids["efa"],
				"ipProtocol":                "-1",
			}
		}},
		{
			"pg",
			ec2.PlacementGroups.String(),
			func() props { return props{"name": "gpu", "strategy": "cluster"} },
		},
	}
}

func (l *lab) identity() []step {
	attach := func(role, policy string) step {
		return step{role + "-" + policy, iam.RolePolicyAttachments.String(), func() props {
			return props{"role": l.ids[role], "policyArn": iam.ManagedPolicy + policy}
		}}
	}
	return []step{
		{
			"key",
			kms.Keys.String(),
			func() props { return props{"enableKeyRotation": true, "deletionWindowInDays": 7} },
		},
		{
			"log",
			logs.LogGroups.String(),
			func() props { return props{"name": "/aws/eks/train/cluster", "retentionInDays": 7} },
		},
		{"cluster-role", iam.Roles.String(), func() props {
			return props{"name": "cluster", "assumeRolePolicy": trust("eks.amazonaws.com")}
		}},
		attach("cluster-role", "AmazonEKSClusterPolicy"),
		{"node-role", iam.Roles.String(), func() props {
			return props{"name": "node", "assumeRolePolicy": trust("ec2.amazonaws.com")}
		}},
		attach("node-role", "AmazonEKSWorkerNodePolicy"),
		attach("node-role", "AmazonEC2ContainerRegistryReadOnly"),
		attach("node-role", "AmazonEKS_CNI_Policy"),
	}
}

func (l *lab) control() []step {
	addon := func(name string) step {
		return step{name, eks.Addons.String(), func() props {
			return props{
				"clusterName":              l.ids["cluster"],
				"addonName":                name,
				"resolveConflictsOnCreate": "OVERWRITE",
			}
		}}
	}
	return []step{
		{"cluster", eks.Clusters.String(), func() props {
			return props{
				"name": "train", "version": eks.DefaultVersion(), "roleArn": l.out["cluster-role"]["arn"],
				"vpcConfig": props{
					"subnetIds":             []string{l.ids["nodes"], l.ids["control"]},
					"endpointPrivateAccess": true, "endpointPublicAccess": true,
					"publicAccessCidrs": []string{"198.51.100.7/32"},
				},
				"accessConfig": props{
					"authenticationMode":                      "API",
					"bootstrapClusterCreatorAdminPermissions": true,
				},
				"enabledClusterLogTypes": []string{"api", "audit"},
				"encryptionConfig": props{
					"provider":  props{"keyArn": l.out["key"]["arn"]},
					"resources": []string{"secrets"},
				},
			}
		}},
		addon("vpc-cni"),
		addon("kube-proxy"),
	}
}

func (l *lab) clusterGroup() string {
	config, ok := l.out["cluster"]["vpcConfig"].(map[string]any)
	require.True(l.t, ok)
	id, ok := config["clusterSecurityGroupId"].(string)
	require.True(l.t, ok)
	return id
}

func (l *lab) workers() []step {
	return []step{
		{"system", eks.NodeGroups.String(), func() props {
			return props{
				"clusterName": l.ids["cluster"], "nodeGroupName": "system",
				"nodeRoleArn": l.out["node-role"]["arn"],
				"subnetIds": []string{
					l.ids["nodes"],
				}, "instanceTypes": []string{"m7i.xlarge"}, "amiType": "AL2023_x86_64_STANDARD",
				"scalingConfig": props{
					"desiredSize": 1,
					"minSize":     1,
					"maxSize":     1,
				}, "labels": props{"role": "system"},
			}
		}},
		{"lt", ec2.LaunchTemplates.String(), func() props {
			return props{
				"name":      "gpu",
				"placement": props{"groupName": l.ids["pg"]},
				"networkInterfaces": []props{{
					"deviceIndex": 0, "networkCardIndex": 0, "interfaceType": "efa",
					"deleteOnTermination": "true",
					"securityGroups":      []string{l.clusterGroup(), l.ids["efa"]},
				}},
				"metadataOptions": props{"httpTokens": "required", "httpPutResponseHopLimit": 2},
			}
		}},
		{"gpu", eks.NodeGroups.String(), func() props { return l.gpuGroup() }},
		{"coredns", eks.Addons.String(), func() props {
			return props{
				"clusterName":              l.ids["cluster"],
				"addonName":                "coredns",
				"resolveConflictsOnCreate": "OVERWRITE",
			}
		}},
	}
}

func (l *lab) gpuGroup() props {
	return props{
		"clusterName": l.ids["cluster"], "nodeGroupName": "gpu",
		"nodeRoleArn": l.out["node-role"]["arn"],
		"subnetIds": []string{
			l.ids["nodes"],
		}, "instanceTypes": []string{"g6.12xlarge"}, "amiType": "AL2023_x86_64_NVIDIA",
		"scalingConfig": props{"desiredSize": 2, "minSize": 0, "maxSize": 2},
		"labels":        props{"role": "gpu-worker", "nvidia.com/gpu.present": "true"},
		"taints": []props{
			{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
		},
		"launchTemplate": props{"id": l.ids["lt"], "version": "1"},
	}
}

// up makes the stack and says which step failed, and how.
func (l *lab) up() (failedStep string, err error) {
	for _, stage := range [][]step{l.network(), l.identity(), l.control(), l.workers()} {
		for _, s := range stage {
			// A step that was left out may be what a later one's inputs are made of.
			if l.skip[s.name] {
				continue
			}
			if err := l.create(s.name, s.token, s.inputs()); err != nil {
				return s.name, err
			}
		}
	}
	return "", nil
}

// down deletes in the reverse order of creation and says which step failed.
func (l *lab) down() (failedStep string, err error) {
	for i := len(l.order) - 1; i >= 0; i-- {
		var name, token string
		for j, r := range l.order[i] {
			if r == ' ' {
				name, token = l.order[i][:j], l.order[i][j+1:]
			}
		}
		if err := l.delete(name, token); err != nil {
			return name, err
		}
	}
	return "", nil
}

// code returns an AWS error's code, or the text of another error.
func code(err error) string {
	var awsError *api.Error
	if errors.As(err, &awsError) {
		return awsError.Code
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// rows returns the table of a type as it is now.
func rows[T any](a *Account, token store.Token[T]) store.Table[T] {
	var all store.Table[T]
	a.store.Look(func(o *store.Op) { all = token.In(o) })
	return all
}
