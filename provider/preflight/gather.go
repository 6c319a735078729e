package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Gather reads the state of the cluster once. An error means that the Kubernetes API failed; a
// failure of Ray is part of the facts.
func Gather(
	ctx context.Context,
	client kubernetes.Interface,
	ray *rayapi.Client,
	want Wanted,
) (Facts, error) {
	var facts Facts
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{
		LabelSelector: corev1.LabelInstanceTypeStable + "=" + want.InstanceType,
	})
	if err != nil {
		return facts, fmt.Errorf("listing nodes of type %q: %w", want.InstanceType, err)
	}
	sets, err := client.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return facts, fmt.Errorf("listing DaemonSets: %w", err)
	}
	for i := range nodes.Items {
		node, err := gatherNode(ctx, client, &nodes.Items[i], sets.Items)
		if err != nil {
			return facts, err
		}
		facts.Nodes = append(facts.Nodes, node)
	}
	facts.Pods, err = gatherPods(ctx, client, want)
	if err != nil {
		return facts, err
	}
	facts.Warnings, err = gatherWarnings(ctx, client, want)
	if err != nil {
		return facts, err
	}
	// Without a ready head the request would only time out.
	if !slices.ContainsFunc(facts.Pods, Pod.readyHead) {
		facts.RayError = errNoHead
		return facts, nil
	}
	facts.Ray, facts.RayError = ray.Nodes(ctx)
	return facts, nil
}

var errNoHead = errors.New("the head pod is not ready")

func gatherNode(
	ctx context.Context, client kubernetes.Interface, object *corev1.Node, sets []appsv1.DaemonSet,
) (Node, error) {
	node := Node{
		Name: object.Name,
		GPUs: amount(object.Status.Allocatable, GPUResource),
		EFA:  amount(object.Status.Allocatable, EFAResource),
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			node.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "spec.nodeName=" + object.Name,
	})
	if err != nil {
		return node, fmt.Errorf("listing pods on node %q: %w", object.Name, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName != object.Name { // a fake client ignores field selectors
			continue
		}
		switch {
		case efaPlugin.owns(pod.Name, &pod.Spec):
			node.EFAPlugin = plugin(pod)
		case nvidiaPlugin.owns(pod.Name, &pod.Spec):
			node.GPUPlugin = plugin(pod)
		}
	}
	if node.EFAPlugin.Pod == "" {
		node.EFAPlugin = absent(efaPlugin, sets, object)
	}
	if node.GPUPlugin.Pod == "" {
		node.GPUPlugin = absent(nvidiaPlugin, sets, object)
	}
	return node, nil
}

func plugin(pod *corev1.Pod) Plugin {
	found := Plugin{Pod: pod.Namespace + "/" + pod.Name}
	if !ready(pod) {
		found.Reason = reason(pod)
		if found.Reason == "" {
			found.Reason = string(pod.Status.Phase)
		}
	}
	return found
}

func amount(list corev1.ResourceList, name corev1.ResourceName) int64 {
	quantity := list[name]
	return quantity.Value()
}

func gatherPods(ctx context.Context, client kubernetes.Interface, want Wanted) ([]Pod, error) {
	list, err := client.CoreV1().Pods(want.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "ray.io/cluster=" + want.RayCluster,
	})
	if err != nil {
		return nil, fmt.Errorf(
			"listing pods of RayCluster %q in namespace %q: %w",
			want.RayCluster,
			want.Namespace,
			err,
		)
	}
	if len(list.Items) == 0 { // a namespace that does not exist lists none either
		_, err := client.CoreV1().Namespaces().Get(ctx, want.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("looking for RayCluster %q: %w", want.RayCluster, err)
		}
	}
	var pods []Pod
	for i := range list.Items {
		object := &list.Items[i]
		if object.DeletionTimestamp != nil {
			continue
		}
		pod := Pod{
			Name:        object.Name,
			Node:        object.Spec.NodeName,
			Group:       object.Labels["ray.io/group"],
			Annotations: object.Annotations,
			Head:        object.Labels["ray.io/node-type"] == "head",
			Ready:       ready(object),
			Reason:      reason(object),
		}
		// KubeRay's Ray container is the first; others are sidecars.
		if len(object.Spec.Containers) > 0 {
			requests := object.Spec.Containers[0].Resources.Requests
			pod.CPU, pod.EFA = requests.Cpu().String(), amount(requests, EFAResource)
			for _, status := range object.Status.ContainerStatuses {
				if status.Name == object.Spec.Containers[0].Name {
					pod.ImageID = status.ImageID
				}
			}
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// warningAge is how old a warning may be. An operator that still fails repeats it within seconds.
const warningAge = 2 * time.Minute

// gatherWarnings returns the warning events of the RayCluster, such as a pod that the operator cannot
// create.
func gatherWarnings(ctx context.Context, client kubernetes.Interface, want Wanted) ([]string, error) {
	list, err := client.CoreV1().Events(want.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=RayCluster,involvedObject.name=" + want.RayCluster +
			",type=" + corev1.EventTypeWarning,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the events of RayCluster %q: %w", want.RayCluster, err)
	}
	var warnings []string
	for _, event := range list.Items {
		last := event.LastTimestamp.Time
		if last.IsZero() {
			last = event.EventTime.Time
		}
		text := event.Reason + ": " + event.Message
		// A fake client ignores field selectors.
		if event.Type == corev1.EventTypeWarning && event.InvolvedObject.Kind == "RayCluster" &&
			event.InvolvedObject.Name == want.RayCluster && time.Since(last) < warningAge &&
			!slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// reason returns the first reason, in the order in which a pod starts, why it does not run.
func reason(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return strings.TrimSpace(condition.Reason + ": " + condition.Message)
		}
	}
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, status := range statuses {
		switch {
		case status.State.Waiting != nil && status.State.Waiting.Reason != "PodInitializing":
			return fmt.Sprintf(
				"container %s: %s %s",
				status.Name,
				status.State.Waiting.Reason,
				status.State.Waiting.Message,
			)
		case status.State.Terminated != nil && status.State.Terminated.ExitCode != 0:
			return fmt.Sprintf(
				"container %s: exit status %d",
				status.Name,
				status.State.Terminated.ExitCode,
			)
		case status.State.Running != nil && isInit(pod, status.Name):
			return fmt.Sprintf("init container %s is still running", status.Name)
		}
	}
	return ""
}

func isInit(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(
		pod.Spec.InitContainers,
		func(c corev1.Container) bool { return c.Name == name },
	)
}
