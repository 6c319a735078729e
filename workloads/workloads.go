// Package workloads installs what training needs in the cluster: the device plugins, the KubeRay
// operator, a namespace with network policies, and a RayCluster.
package workloads

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/image"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// Args describes the workloads.
type Args struct {
	// Region is the region of the registry for the EFA plugin's image.
	Region region.Region
	// Image is what head and workers run.
	Image image.Reference
	// Charts holds repositories and versions of the Helm charts.
	Charts settings.Charts
	// Ray is the shape of the RayCluster.
	Ray settings.Ray
	// GPUType describes the GPU nodes, Workers is their number.
	GPUType capacity.InstanceType
	Workers int
	// Environment is set on the workers.
	Environment map[string]string
	// AwaitSeconds is how long the update waits until the RayCluster's pods are ready. It is 0 with a
	// training job, which waits itself and reports why pods are not ready.
	AwaitSeconds int
	// Kubernetes is the provider of everything here.
	Kubernetes *kubernetes.Provider
}

// Workloads is a namespace with a RayCluster in it.
type Workloads struct {
	pulumi.ResourceState

	// Namespace holds the RayCluster.
	Namespace pulumi.StringOutput
	// RayCluster is its name.
	RayCluster pulumi.StringOutput
	// RayClusterSpec is its spec as JSON.
	RayClusterSpec string
	// Made is what others depend on: it waits for everything else here. The component would not do,
	// see infra.Network.
	Made []pulumi.Resource
}

// New installs the charts, creates the namespace with its network policies, and then the
// RayCluster.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Workloads, error) {
	w := &Workloads{}
	opts = append(opts, pulumi.Providers(args.Kubernetes))
	if err := ctx.RegisterComponentResource("ray-train-efa:workloads:Workloads", name, w, opts...); err != nil {
		return nil, fmt.Errorf("registering workloads %q: %w", name, err)
	}
	b := builder{ctx: ctx, args: args, options: []pulumi.ResourceOption{pulumi.Parent(w)}}
	namespace, err := corev1.NewNamespace(ctx, "ray", &corev1.NamespaceArgs{
		Metadata: metav1.ObjectMetaArgs{
			Name: pulumi.String(args.Ray.Namespace), Labels: podSecurity(baseline),
		},
	}, b.options...)
	if err != nil {
		return nil, fmt.Errorf("creating namespace %q: %w", args.Ray.Namespace, err)
	}
	b.namespace, b.rayNamespace = namespace.Metadata.Name().Elem(), namespace

	before, err := b.plugins()
	if err != nil {
		return nil, err
	}
	operator, err := b.operator()
	if err != nil {
		return nil, err
	}
	policies, err := b.policies()
	if err != nil {
		return nil, err
	}
	before = append(append(before, operator), policies...)
	ray, spec, err := b.rayCluster(before)
	if err != nil {
		return nil, err
	}
	w.RayClusterSpec, w.Made = spec, []pulumi.Resource{ray}
	w.Namespace = b.namespace
	w.RayCluster = pulumi.String(RayClusterName).ToStringOutput()
	if err := ctx.RegisterResourceOutputs(w, pulumi.Map{"namespace": w.Namespace, "rayCluster": w.RayCluster}); err != nil {
		return nil, fmt.Errorf("registering the outputs of workloads %q: %w", name, err)
	}
	return w, nil
}

// builder carries what every part of the workloads needs.
type builder struct {
	ctx          *pulumi.Context
	args         *Args
	options      []pulumi.ResourceOption
	namespace    pulumi.StringOutput
	rayNamespace pulumi.Resource
}

// rayCluster creates the custom resource and returns its spec.
func (b builder) rayCluster(after []pulumi.Resource) (pulumi.Resource, string, error) {
	shape, err := Worker(b.args.GPUType)
	if err != nil {
		return nil, "", err
	}
	cluster, err := NewRayCluster(RayClusterSpec{
		Namespace: b.args.Ray.Namespace, Image: b.args.Image.String(), RayVersion: b.args.Ray.Version,
		HeadCPU: b.args.Ray.HeadCPU, HeadMemory: b.args.Ray.HeadMemory,
		HeadObjectStoreMiB: b.args.Ray.HeadObjectStoreMiB, WorkerObjectStoreMiB: b.args.Ray.WorkerObjectStoreMiB,
		Workers: b.args.Workers, Worker: shape, Environment: b.args.Environment,
	})
	if err != nil {
		return nil, "", err
	}
	spec, err := specFields(cluster)
	if err != nil {
		return nil, "", err
	}
	metadata := b.metadata(RayClusterName)
	if b.args.AwaitSeconds > 0 {
		// Both are needed: RayClusterProvisioned stays true once it was true, HeadPodReady is the current
		// state.
		metadata.Annotations = pulumi.StringMap{
			"pulumi.com/waitFor":        pulumi.String(`["condition=HeadPodReady","condition=RayClusterProvisioned"]`),
			"pulumi.com/timeoutSeconds": pulumi.String(strconv.Itoa(b.args.AwaitSeconds)),
		}
	}
	options := append([]pulumi.ResourceOption{pulumi.DependsOn(after)}, b.options...)
	made, err := apiextensions.NewCustomResource(b.ctx, RayClusterName, &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(cluster.APIVersion),
		Kind:        pulumi.String(cluster.Kind),
		Metadata:    metadata,
		OtherFields: map[string]any{"spec": spec},
	}, options...)
	if err != nil {
		return nil, "", fmt.Errorf("creating RayCluster %q: %w", RayClusterName, err)
	}
	// json.Marshal sorts the keys, so the same spec gives the same proof.
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, "", fmt.Errorf("writing the spec of RayCluster %q: %w", RayClusterName, err)
	}
	return made, string(text), nil
}
