package preflight

import "github.com/ray-train-efa/ray-train-efa/jobs"

// NodesSeen returns the nodes in the form of the state.
func NodesSeen(facts Facts) []jobs.Node {
	nodes := make([]jobs.Node, 0, len(facts.Nodes))
	for _, node := range facts.Nodes {
		nodes = append(nodes, jobs.Node{Name: node.Name, GPUs: int(node.GPUs), EFA: int(node.EFA)})
	}
	return nodes
}

// PodsSeen returns the RayCluster's pods in the form of the state.
func PodsSeen(facts Facts, want Wanted) []jobs.Pod {
	pods := make([]jobs.Pod, 0, len(facts.Pods))
	for _, pod := range facts.Pods {
		seen := jobs.Pod{
			Name:        pod.Name,
			Node:        pod.Node,
			Head:        pod.Head,
			ImageDigest: digest(pod.ImageID),
			FIInfo:      jobs.FIInfoUnknown,
		}
		if current, known := want.Templates.current(pod); known {
			seen.Current = &current
		}
		pods = append(pods, seen)
	}
	return pods
}
