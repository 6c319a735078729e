package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// clockSkew is how far the cluster's clocks may be behind the local one.
const clockSkew = 30 * time.Second

// Ended identifies a job whose end Failures explains.
type Ended struct {
	// JobID is Ray's own id of the job; empty if its driver never started.
	JobID string
	// Workers are the pods that the job ran in.
	Workers []string
	// Since is when the job started.
	Since time.Time
}

// Failures returns findings about containers, pods, Ray nodes and actors that ended since the job
// started, and about nodes whose disk is full. They explain missing ranks, which the ranks' own
// files cannot. It ignores errors, because the findings are only additional.
func Failures(
	ctx context.Context, client kubernetes.Interface, ray *rayapi.Client, want Wanted, job Ended,
) []report.Finding {
	since := job.Since.Add(-clockSkew)
	found := append(lostPods(ctx, client, want, job.Workers, since), pressures(ctx, client)...)
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
	actors, err := ray.Actors(ctx)
	if err != nil || job.JobID == "" {
		return found
	}
	return append(found, deadActors(actors, job.JobID, want)...)
}

// pressures returns a finding about each node that Kubernetes reports as short of disk space.
func pressures(ctx context.Context, client kubernetes.Interface) []report.Finding {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var found []report.Finding
	for i := range list.Items {
		node := &list.Items[i]
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeDiskPressure && condition.Status == corev1.ConditionTrue {
				found = append(found, finding("node-disk-full",
					fmt.Sprintf("node %s: DiskPressure: %s", node.Name, condition.Message),
					"the node's disk is full, so that its pods cannot write and are evicted",
					"kubectl describe node "+node.Name+"; a larger disk: pulumi config set --path gpu.volumeGiB GIB"))
			}
		}
	}
	return found
}

// deadActors returns a finding about the actors of a job that failed, for each node and cause.
func deadActors(actors []rayapi.Actor, jobID string, want Wanted) []report.Finding {
	type group struct{ node, cause string }
	var order []group
	first, count := map[group]string{}, map[group]int{}
	for _, actor := range actors {
		cause, message := deathOf(actor)
		if actor.JobID != jobID || cause == "" {
			continue
		}
		key := group{actor.NodeID, cause}
		if count[key]++; count[key] == 1 {
			order = append(order, key)
			first[key] = fmt.Sprintf("%s (process %d): %s", actor.ClassName, actor.PID, message)
		}
	}
	var found []report.Finding
	for _, key := range order {
		found = append(found, finding("ray-actor-died",
			fmt.Sprintf("%d actors on Ray node %.12s, such as %s", count[key], key.node, first[key]), key.cause,
			fmt.Sprintf("read driver.log next to the report; kubectl -n %s describe pods -l ray.io/cluster=%s",
				want.Namespace, want.RayCluster)))
	}
	return found
}

// deathOf returns why an actor failed, and Ray's message in one line; "" for one that is alive, or
// that was ended on purpose.
func deathOf(actor rayapi.Actor) (cause, message string) {
	death := actor.DeathCause
	if actor.State != rayapi.Dead || death == nil {
		return "", ""
	}
	failure := rayapi.ActorFailure{Message: "no message"}
	switch {
	case death.OutOfMemory != nil:
		cause, failure = "Ray ended the process because the node ran out of memory", *death.OutOfMemory
	case death.Died != nil && death.Died.Reason == rayapi.NodeDied:
		cause, failure = "the actor's node was lost", death.Died.ActorFailure
	case death.Died != nil && death.Died.Reason == rayapi.WorkerDied && !death.Died.Intended():
		cause, failure = "the actor's process ended unexpectedly: it crashed or was killed", death.Died.ActorFailure
	case death.Unschedulable != nil:
		cause, failure = "no Ray node has the resources that the actor needs", *death.Unschedulable
	case death.RuntimeEnv != nil:
		cause, failure = "Ray could not set up the job's runtime environment", *death.RuntimeEnv
	}
	return cause, strings.Join(strings.Fields(failure.Message), " ")
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
