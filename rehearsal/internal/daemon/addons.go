package daemon

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

// addonNamespace is where EKS installs its add-ons.
const addonNamespace = "kube-system"

// addonPods describes the pods of an add-on. The requests are those of EKS's own manifests, because
// they decide whether the head fits the node.
type addonPods struct {
	// workload is the name of the DaemonSet or Deployment.
	workload string
	program  images.Program
	// replicas is 0 for a DaemonSet.
	replicas    int32
	cpu, memory string
	hostNetwork bool
}

// addonTable maps an add-on's name to its pods. Source of the requests: the manifests that EKS
// applies (aws-node has two containers of 25m; coredns requests 100m and 70Mi in each of two
// replicas; kube-proxy 100m).
func addonTable() map[string]addonPods {
	return map[string]addonPods{
		"vpc-cni": {workload: "aws-node", program: images.VPCCNI, cpu: "50m", hostNetwork: true},
		"kube-proxy": {workload: "kube-proxy", program: images.KubeProxy, cpu: "100m",
			hostNetwork: true},
		"coredns": {workload: "coredns", program: images.CoreDNS, replicas: 2, cpu: "100m",
			memory: "70Mi"},
		"eks-pod-identity-agent": {
			workload: "eks-pod-identity-agent", program: images.PodIdentityAgent, hostNetwork: true,
		},
	}
}

// applyAddons makes the cluster run exactly the given add-ons.
func applyAddons(
	ctx context.Context, client kubernetes.Interface, addons []api.AddonSpec,
) error {
	wanted := map[string]bool{}
	for _, addon := range addons {
		wanted[addon.Name] = true
	}
	for name, pods := range addonTable() {
		var err error
		switch {
		case !wanted[name]:
			err = removeAddon(ctx, client, pods)
		case pods.replicas == 0:
			err = applyDaemonSet(ctx, client, pods)
		default:
			err = applyDeployment(ctx, client, pods)
		}
		if err != nil {
			return fmt.Errorf("applying add-on %q: %w", name, err)
		}
	}
	return nil
}

func applyDaemonSet(ctx context.Context, client kubernetes.Interface, pods addonPods) error {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: pods.workload, Namespace: addonNamespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pods.labels()},
			Template: pods.template(),
		},
	}
	_, err := client.AppsV1().DaemonSets(addonNamespace).Create(ctx, set, metav1.CreateOptions{})
	return ignore(err, apierrors.IsAlreadyExists)
}

func applyDeployment(ctx context.Context, client kubernetes.Interface, pods addonPods) error {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: pods.workload, Namespace: addonNamespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &pods.replicas,
			Selector: &metav1.LabelSelector{MatchLabels: pods.labels()},
			Template: pods.template(),
		},
	}
	_, err := client.AppsV1().Deployments(addonNamespace).Create(ctx, deployment,
		metav1.CreateOptions{})
	return ignore(err, apierrors.IsAlreadyExists)
}

func removeAddon(ctx context.Context, client kubernetes.Interface, pods addonPods) error {
	if pods.replicas == 0 {
		err := client.AppsV1().DaemonSets(addonNamespace).Delete(ctx, pods.workload,
			metav1.DeleteOptions{})
		return ignore(err, apierrors.IsNotFound)
	}
	err := client.AppsV1().Deployments(addonNamespace).Delete(ctx, pods.workload,
		metav1.DeleteOptions{})
	return ignore(err, apierrors.IsNotFound)
}

func ignore(err error, expected func(error) bool) error {
	if expected(err) {
		return nil
	}
	return err
}

func (p addonPods) labels() map[string]string { return map[string]string{"k8s-app": p.workload} }

func (p addonPods) template() corev1.PodTemplateSpec {
	requests := corev1.ResourceList{}
	if p.cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(p.cpu)
	}
	if p.memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(p.memory)
	}
	spec := corev1.PodSpec{
		HostNetwork:       p.hostNetwork,
		PriorityClassName: "system-node-critical",
		Containers: []corev1.Container{{
			Name:      p.workload,
			Image:     images.AddonRef(Region, p.program),
			Resources: corev1.ResourceRequirements{Requests: requests},
		}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
	if p.replicas > 0 {
		// coredns tolerates only these, so that it needs a node without taints.
		spec.PriorityClassName = "system-cluster-critical"
		spec.Tolerations = []corev1.Toleration{
			{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
			{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		}
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.labels()}, Spec: spec}
}
