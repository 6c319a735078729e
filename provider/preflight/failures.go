package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// clockSkew is how far the cluster's clocks may be behind the local one.
const clockSkew = 30 * time.Second

// Failures returns findings about containers, pods and Ray nodes that ended since the job started.
// They explain missing ranks, which the ranks' own files cannot. workers are the pods that the job
// ran in. It ignores errors, because the findings are only additional.
func Failures(
	ctx context.Context, client kubernetes.Interface, ray *rayapi.Client, want Wanted,
	workers []string, since time.Time,
) []report.Finding {
	since = since.Add(-clockSkew)
	found := lostPods(ctx, client, want, workers, since)
	nodes, err := ray.Nodes(ctx)
	if err != nil {
		return found
	}
	for _, node := range nodes {
		if node.State != rayapi.Alive && time.UnixMilli(node.EndTime).After(since) {
			found = append(found, finding("ray-node-died",
				fmt.Sprintf("Ray node %.12s (%s) is %s: %s", node.ID, node.IP, node.State, node.StateMessage),
				"Ray lost the node while the job was running: its raylet or its machine stopped",
				"kubectl get nodes,pods -A -o wide; kubectl get events -A --sort-by=.lastTimestamp"))
		}
	}
	return found
}

func lostPods(
	ctx context.Context, client kubernetes.Interface, want Wanted, workers []string, since time.Time,
) []report.Finding {
	list, err := client.CoreV1().Pods(want.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "ray.io/cluster=" + want.RayCluster,
	})
	if err != nil {
		return nil
	}
	var found []report.Finding
	for i := range list.Items {
		pod := &list.Items[i]
		found = append(found, podFailures(pod, since)...)
		workers = slices.DeleteFunc(slices.Clone(workers), func(name string) bool { return name == pod.Name })
	}
	for _, name := range workers {
		found = append(found, finding("ray-pod-lost",
			fmt.Sprintf("pod %s, which ran ranks of the job, no longer exists", name),
			"the pod was deleted or evicted while the job ran, or its node was lost",
			fmt.Sprintf("kubectl get nodes; kubectl -n %s get events --field-selector involvedObject.name=%s",
				want.Namespace, name)))
	}
	return found
}

// podFailures returns findings about what ended in a pod since a point in time.
func podFailures(pod *corev1.Pod, since time.Time) []report.Finding {
	describe := fmt.Sprintf("kubectl -n %s describe pod %s", pod.Namespace, pod.Name)
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" { // such as Evicted: DiskPressure
		return []report.Finding{finding("ray-pod-failed",
			fmt.Sprintf("pod %s on node %s: %s: %s", pod.Name, pod.Spec.NodeName, pod.Status.Reason, pod.Status.Message),
			"Kubernetes ended the pod while the job ran", describe)}
	}
	var found []report.Finding
	for _, status := range pod.Status.ContainerStatuses {
		for _, ended := range []*corev1.ContainerStateTerminated{
			status.LastTerminationState.Terminated, status.State.Terminated,
		} {
			if ended == nil || !ended.FinishedAt.After(since) {
				continue
			}
			cause := "the container's process ended while the job ran"
			if ended.Reason == "OOMKilled" {
				cause = "the container used more memory than its limit"
			}
			found = append(found, finding("ray-container-died",
				fmt.Sprintf("pod %s on node %s, container %s: %s, exit status %d",
					pod.Name, pod.Spec.NodeName, status.Name, ended.Reason, ended.ExitCode),
				cause, describe+fmt.Sprintf("; kubectl -n %s logs %s -c %s --previous",
					pod.Namespace, pod.Name, status.Name)))
		}
	}
	return found
}
