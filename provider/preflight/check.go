package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Check compares facts with want. Without findings the job can be submitted. Causes come first:
// node problems before the pods that wait for the node.
func Check(facts Facts, want Wanted) []report.Finding {
	var found []report.Finding
	found = append(found, checkNodes(facts.Nodes, want)...)
	found = append(found, checkPods(facts.Pods, facts.Warnings, want)...)
	found = append(found, checkRay(facts, want)...)
	return found
}

func finding(code, text, cause, next string) report.Finding {
	return report.Finding{Code: code, Severity: report.Error, Text: text, Cause: cause, Next: next}
}

func checkNodes(nodes []Node, want Wanted) []report.Finding {
	var found []report.Finding
	if len(nodes) < want.Nodes {
		found = append(found, finding(
			"gpu-nodes-missing",
			fmt.Sprintf("%d of %d nodes of type %s", len(nodes), want.Nodes, want.InstanceType),
			"the GPU node group has too few nodes: no capacity in the zone, no quota, or they did not join",
			"kubectl get nodes -L node.kubernetes.io/instance-type,topology.kubernetes.io/zone",
		))
	}
	for _, node := range nodes {
		found = append(found, checkNode(node, want)...)
	}
	return found
}

func checkNode(node Node, want Wanted) []report.Finding {
	var found []report.Finding
	if !node.Ready {
		found = append(found, finding("node-not-ready", "node "+node.Name+" is not Ready",
			"the kubelet does not report its status: the node is starting or has no network",
			"kubectl describe node "+node.Name))
	}
	if node.GPUs < int64(want.GPUsPerNode) {
		cause, next := explain(node, node.GPUPlugin, "NVIDIA",
			"the driver or the AMI does not match the instance")
		found = append(found, finding(
			"gpu-device-missing",
			fmt.Sprintf(
				"node %s: allocatable %s = %d, required: %d",
				node.Name,
				GPUResource,
				node.GPUs,
				want.GPUsPerNode,
			),
			cause,
			next,
		))
	}
	if node.EFA < int64(want.EFAPerNode) {
		cause, next := explain(node, node.EFAPlugin, "EFA",
			"the launch template gave the instance no EFA interface (InterfaceType efa)")
		found = append(found, finding(
			"efa-device-missing",
			fmt.Sprintf(
				"node %s: allocatable %s = %d, required: %d",
				node.Name,
				EFAResource,
				node.EFA,
				want.EFAPerNode,
			),
			cause,
			next,
		))
	}
	return found
}

// explain returns why a device is not allocatable, from the state of its plugin's pod. noDevice is
// the cause if the plugin runs.
func explain(node Node, plugin Plugin, name, noDevice string) (cause, next string) {
	switch {
	case plugin.Pod == "" && plugin.Absent == "":
		return fmt.Sprintf("the %s device plugin's pod on this node is starting", name),
			"kubectl get pods -A --field-selector spec.nodeName=" + node.Name
	case plugin.Pod == "" && plugin.UnlistedType:
		return fmt.Sprintf("the %s device plugin has no pod on this node: %s", name, plugin.Absent),
			"use a newer chart: helm search repo eks/aws-efa-k8s-device-plugin --versions (repository " +
				"https://aws.github.io/eks-charts), pulumi config set --path charts.efa.version VERSION, then pulumi up"
	case plugin.Pod == "":
		return fmt.Sprintf("the %s device plugin has no pod on this node: %s", name, plugin.Absent),
			"kubectl get daemonsets -A; kubectl describe node " + node.Name
	case plugin.Reason != "":
		return fmt.Sprintf(
				"%s, so the %s device plugin's pod %s does not run (%s)",
				noDevice,
				name,
				plugin.Pod,
				plugin.Reason,
			),
			logsOf(
				plugin.Pod,
			)
	default:
		return fmt.Sprintf(
				"%s: the %s device plugin (%s) runs but finds no device",
				noDevice,
				name,
				plugin.Pod,
			),
			logsOf(
				plugin.Pod,
			)
	}
}

func logsOf(pod string) string {
	namespace, name, _ := strings.Cut(pod, "/")
	return fmt.Sprintf("kubectl -n %s logs %s", namespace, name)
}

func checkPods(pods []Pod, warnings []string, want Wanted) []report.Finding {
	var found []report.Finding
	heads, workers := 0, 0
	for _, pod := range inOrderOfCause(pods) {
		if pod.Head {
			heads++
		} else {
			workers++
		}
		found = append(found, checkPod(pod, want)...)
	}
	if heads != 1 || workers != want.Nodes {
		cause := "the KubeRay operator has not created the pods yet, or is replacing them"
		if len(warnings) > 0 {
			cause = "the KubeRay operator cannot create the pods: " + warnings[len(warnings)-1]
		}
		found = append(found, finding(
			"ray-pods-missing",
			fmt.Sprintf(
				"%d head and %d worker pods of RayCluster %s, required: 1 and %d",
				heads,
				workers,
				want.RayCluster,
				want.Nodes,
			),
			cause,
			fmt.Sprintf("kubectl -n %s describe raycluster %s", want.Namespace, want.RayCluster),
		))
	}
	return found
}

// inOrderOfCause returns pods without a node first, then the head: the others wait for them.
func inOrderOfCause(pods []Pod) []Pod {
	rank := func(p Pod) int {
		switch {
		case p.Node == "" && p.Head:
			return 0
		case p.Node == "":
			return 1
		case p.Head:
			return 2
		default:
			return 3
		}
	}
	return slices.SortedStableFunc(
		slices.Values(pods),
		func(a, b Pod) int { return rank(a) - rank(b) },
	)
}

func checkPod(pod Pod, want Wanted) []report.Finding {
	describe := fmt.Sprintf("kubectl -n %s describe pod %s", want.Namespace, pod.Name)
	var found []report.Finding
	if pod.lacksEFA(want) {
		found = append(found, finding(
			"efa-not-requested",
			fmt.Sprintf(
				"pod %s requests %d %s, required: %d",
				pod.Name,
				pod.EFA,
				EFAResource,
				want.EFAPerNode,
			),
			"the worker does not request "+EFAResource+", "+
				"and Kubernetes gives a container only the devices that it requests: NCCL would find no EFA",
			fmt.Sprintf(
				"kubectl -n %s get raycluster %s -o yaml, then add %s to the worker's requests and limits",
				want.Namespace,
				want.RayCluster,
				EFAResource,
			),
		))
	}
	if !pod.Ready {
		reason := pod.Reason
		if reason == "" {
			reason = "starting"
		}
		found = append(
			found,
			finding(
				"ray-pod-not-ready",
				fmt.Sprintf("pod %s: %s", pod.Name, reason),
				podCause(pod),
				podNext(pod, describe),
			),
		)
	}
	if current, known := want.Templates.current(pod); known && !current {
		found = append(found, finding(
			"pod-outdated",
			fmt.Sprintf(
				"pod %s was not created from the current template of RayCluster %s",
				pod.Name,
				want.RayCluster,
			),
			"KubeRay keeps pods when its own version changes in the same update, so this pod is older than the spec",
			fmt.Sprintf("kubectl -n %s delete pod %s", want.Namespace, pod.Name),
		))
	}
	switch {
	case pod.Ready && pod.ImageID == "":
		found = append(
			found,
			finding(
				"image-unknown",
				fmt.Sprintf("pod %s is ready, but its status has no imageID", pod.Name),
				"the image of the pod cannot be verified",
				describe,
			),
		)
	case pod.ImageID != "" && digest(pod.ImageID) != digest(want.ImageDigest):
		found = append(found, finding(
			"image-digest-mismatch",
			fmt.Sprintf(
				"pod %s runs %s, required: %s",
				pod.Name,
				pod.ImageID,
				digest(want.ImageDigest),
			),
			"KubeRay keeps pods when only their template changes, so this pod is older than the settings",
			fmt.Sprintf("kubectl -n %s delete pod %s", want.Namespace, pod.Name),
		))
	}
	return found
}

func podCause(pod Pod) string {
	switch {
	case strings.Contains(pod.Reason, EFAResource) || strings.Contains(pod.Reason, GPUResource):
		return "no node has the devices that the pod requests"
	case pod.Node == "" && strings.Contains(pod.Reason, "Insufficient cpu"):
		return fmt.Sprintf(
			"the %s requests %s CPU, more than is free on any node that it can run on",
			pod.role(),
			pod.CPU,
		)
	case pod.Node == "" && strings.Contains(pod.Reason, "Insufficient memory"):
		return "the " + pod.role() + " requests more memory than is free on any node that it can run on"
	case pod.Node == "":
		return "no node can run the pod: resources, labels or taints do not match"
	case strings.Contains(pod.Reason, "Image"):
		return "the image cannot be pulled: digest, registry or permission"
	case strings.Contains(pod.Reason, "wait-gcs-ready"):
		return "the worker cannot reach the head's GCS (port 6379): DNS, a network policy or the head itself"
	default:
		return "its container has not passed its readiness probe"
	}
}

func (p Pod) role() string {
	if p.Head {
		return "Ray head"
	}
	return "Ray worker"
}

// podNext returns the command for a pod that is not ready; describe is the kubectl command that
// shows the pod.
func podNext(pod Pod, describe string) string {
	switch {
	case pod.Head && pod.Node == "" && strings.Contains(pod.Reason, "Insufficient cpu"):
		return "pulumi config set --path ray.headCpu 3 (or a larger system.instanceType), then pulumi up; details: " + describe
	case pod.Head && pod.Node == "" && strings.Contains(pod.Reason, "Insufficient memory"):
		return "pulumi config set --path ray.headMemory 10Gi (or a larger system.instanceType), then pulumi up; details: " + describe
	default:
		return describe
	}
}

// digest returns the digest of an image reference.
func digest(reference string) string {
	if _, after, ok := strings.Cut(reference, "@"); ok {
		return after
	}
	return reference
}

func checkRay(facts Facts, want Wanted) []report.Finding {
	status := fmt.Sprintf(
		"kubectl -n %s exec %s -- ray status",
		want.Namespace,
		headName(facts.Pods),
	)
	logs := fmt.Sprintf("kubectl -n %s logs %s", want.Namespace, headName(facts.Pods))
	switch {
	case facts.dashboardDown():
		return []report.Finding{finding("ray-unreachable", facts.RayError.Error(),
			"the head's pod is ready, but Ray's dashboard cannot be reached: "+
				"the dashboard process has ended",
			fmt.Sprintf("kubectl -n %s delete pod %s (KubeRay creates a new head), then pulumi up; the reason: %s",
				want.Namespace, headName(facts.Pods), logs))}
	case facts.tokenRejected():
		return []report.Finding{finding("ray-unauthorized", facts.RayError.Error(),
			"the head rejects the token in the Secret of the RayCluster: "+
				"the Secret changed after the head started",
			fmt.Sprintf("kubectl -n %s delete pod %s (the new head reads the Secret), then pulumi up",
				want.Namespace, headName(facts.Pods)))}
	case facts.RayError != nil:
		return []report.Finding{finding("ray-unreachable", facts.RayError.Error(),
			"Ray's dashboard cannot be reached through the API server", logs)}
	}
	usable := 0
	for _, node := range facts.Ray {
		if node.State == rayapi.Alive && !node.IsHead &&
			node.Resources["GPU"] >= float64(want.GPUsPerNode) {
			usable++
		}
	}
	if usable != want.Nodes {
		return []report.Finding{
			finding(
				"ray-nodes-missing",
				fmt.Sprintf(
					"Ray reports %d ALIVE workers with %d GPUs, required: %d",
					usable,
					want.GPUsPerNode,
					want.Nodes,
				),
				"workers have not joined, or joined without GPUs (the RayCluster still shows ready)",
				status,
			),
		}
	}
	return nil
}

func headName(pods []Pod) string {
	for _, pod := range pods {
		if pod.Head {
			return pod.Name
		}
	}
	return "HEAD-POD"
}
