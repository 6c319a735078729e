package workloads

import (
	"fmt"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	helmv3 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v3"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

const (
	// pluginNamespace is the namespace of the device plugins. Their priority class is allowed only
	// there.
	pluginNamespace = "kube-system"
	// operatorNamespace is the namespace of the KubeRay operator.
	operatorNamespace = settings.OperatorNamespace
)

// release is one Helm release. It is named like the chart: objects with generated names would block
// the next install.
type release struct {
	chart     string
	origin    settings.Chart
	namespace pulumi.StringInput
	values    any
	// skipAwait does not wait for the release's pods; the training job checks them.
	skipAwait bool
	// after are resources that must exist first.
	after []pulumi.Resource
}

// plugins installs both device plugins without waiting for their DaemonSets: an empty DaemonSet
// counts as ready, and for a plugin that crashes Helm only reports a timeout. The training job
// checks the allocatable devices of each node and reports the node and the cause.
func (b builder) plugins() ([]pulumi.Resource, error) {
	var made []pulumi.Resource
	for _, r := range []release{
		{chart: "nvidia-device-plugin", origin: b.args.Charts.NVIDIA, values: newNVIDIAValues(), skipAwait: true},
		{chart: "aws-efa-k8s-device-plugin", origin: b.args.Charts.EFA, skipAwait: true,
			values: newEFAValues(b.args.Charts, b.args.Region, b.args.GPUType.Name)},
	} {
		r.namespace = pulumi.String(pluginNamespace)
		resource, err := b.release(r)
		if err != nil {
			return nil, err
		}
		made = append(made, resource)
	}
	return made, nil
}

// operator installs KubeRay and waits for it, because it installs the RayCluster CRD. The chart puts
// a role into the namespace of the RayCluster.
func (b builder) operator() (pulumi.Resource, error) {
	namespace, err := corev1.NewNamespace(b.ctx, operatorNamespace, &corev1.NamespaceArgs{
		Metadata: metav1.ObjectMetaArgs{
			Name: pulumi.String(operatorNamespace), Labels: podSecurity(restricted),
		},
	}, b.options...)
	if err != nil {
		return nil, fmt.Errorf("creating namespace %q: %w", operatorNamespace, err)
	}
	return b.release(release{
		chart: "kuberay-operator", origin: b.args.Charts.KubeRay, values: newKubeRayValues(b.args.Ray.Namespace),
		namespace: namespace.Metadata.Name().Elem(), after: []pulumi.Resource{b.rayNamespace},
	})
}

func (b builder) release(r release) (*helmv3.Release, error) {
	values, err := untyped(r.values)
	if err != nil {
		return nil, fmt.Errorf("writing the values of chart %q: %w", r.chart, err)
	}
	args := &helmv3.ReleaseArgs{
		Name:      pulumi.String(r.chart),
		Chart:     pulumi.String(r.chart),
		Version:   pulumi.String(r.origin.Version),
		Namespace: r.namespace,
		Values:    values,
		Timeout:   pulumi.Int(b.args.Charts.TimeoutSeconds),
		SkipAwait: pulumi.Bool(r.skipAwait),
	}
	if strings.HasPrefix(r.origin.Repository, "oci://") {
		args.Chart = pulumi.String(strings.TrimSuffix(r.origin.Repository, "/") + "/" + r.chart)
	} else {
		args.RepositoryOpts = helmv3.RepositoryOptsArgs{Repo: pulumi.String(r.origin.Repository)}
	}
	options := append([]pulumi.ResourceOption{pulumi.DependsOn(r.after)}, b.options...)
	made, err := helmv3.NewRelease(b.ctx, r.chart, args, options...)
	if err != nil {
		return nil, fmt.Errorf("installing chart %q %s: %w", r.chart, r.origin.Version, err)
	}
	return made, nil
}
