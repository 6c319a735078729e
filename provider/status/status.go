// Package status tells how a training job and its cluster are doing, with or without a Pulumi
// stack.
package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Status is what a cluster and its training job look like now. Its JSON form is a contract: null is
// unknown.
type Status struct {
	// Verdict is that of the newest attempt: the final one, or the one on its evidence so far.
	Verdict report.Verdict `json:"verdict"`
	// Final reports whether the attempt was judged.
	Final bool `json:"final"`
	// Passed reports whether the gate passed: the verdict is final and efa, the job succeeded, and
	// the stack agrees.
	Passed bool   `json:"passed"`
	Job    *Job   `json:"job"`
	Nodes  []Node `json:"nodes"`
	Pods   []Pod  `json:"pods"`
	// HourlyUSD is the price of the stack per hour, SpentUSD since its control plane was created.
	HourlyUSD *float64 `json:"hourlyUsd"`
	SpentUSD  *float64 `json:"spentUsd"`
	// Problems says what could not be read.
	Problems []string `json:"problems"`
}

// Job is the job of the newest attempt.
type Job struct {
	SubmissionID string `json:"submissionId"`
	Attempt      int    `json:"attempt"`
	// Status is Ray's; empty when Ray does not know the job.
	Status rayapi.JobStatus `json:"status"`
	// Seconds is how long the job has run, or ran; null before it started.
	Seconds *int `json:"seconds"`
	// Ranks is the number of ranks with evidence so far.
	Ranks    *int               `json:"ranks"`
	Progress *evidence.Progress `json:"progress"`
}

// Node is a node of the cluster with GPUs.
type Node struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	GPUs  int64  `json:"gpus"`
	EFA   int64  `json:"efa"`
}

// Pod is a pod of the RayCluster.
type Pod struct {
	Name  string `json:"name"`
	Node  string `json:"node"`
	Head  bool   `json:"head"`
	Phase string `json:"phase"`
	Ready bool   `json:"ready"`
}

// ExitCode returns the exit status for scripts, as `raytrain verdict` does: 0 only if the gate
// passed.
func (s Status) ExitCode() int {
	switch {
	case s.Passed:
		return report.EFA.ExitCode()
	case !s.Final || s.Verdict == report.EFA:
		return report.Inconclusive.ExitCode()
	default:
		return s.Verdict.ExitCode()
	}
}

// Cluster is the access to a cluster; kube.Cluster implements it.
type Cluster interface {
	Kubernetes() kubernetes.Interface
	Ray(ctx context.Context, namespace, rayCluster string) (client *rayapi.Client, token string, err error)
}

// Read returns the status of a target. What cannot be read is among its problems.
func Read(ctx context.Context, cluster Cluster, target Target, now time.Time) Status {
	s := Status{Verdict: jobs.VerdictNone, Nodes: []Node{}, Pods: []Pod{}, Problems: []string{}}
	note := func(err error) {
		if err != nil {
			s.Problems = append(s.Problems, err.Error())
		}
	}
	note(s.readNodes(ctx, cluster.Kubernetes()))
	note(s.readPods(ctx, cluster.Kubernetes(), target))
	record, err := attempt.Newest(ctx, cluster.Kubernetes(), target.Namespace)
	note(err)
	if record != nil {
		note(s.readJob(ctx, cluster, target, *record, now))
		if record.Settled {
			s.Verdict, s.Final = cmp.Or(record.Verdict, jobs.VerdictNone), true
		}
	}
	if target.Stack != nil {
		s.addStack(*target.Stack, now)
	}
	s.Passed = s.Final && s.Verdict == report.EFA && record.JobStatus == rayapi.Succeeded && target.Stack.agrees(*record)
	return s
}

// agrees reports whether the state passed with the recorded attempt. No stack is nothing to
// disagree.
func (s *Stack) agrees(record attempt.Record) bool {
	return s == nil || s.Verdict == record.Verdict && s.Refusal == nil && s.SubmissionID == record.SubmissionID
}

// addStack takes the price, and the verdict where the cluster has none.
func (s *Status) addStack(stack Stack, now time.Time) {
	s.HourlyUSD = stack.HourlyUSD
	if stack.HourlyUSD != nil && !stack.Since.IsZero() {
		spent := *stack.HourlyUSD * now.Sub(stack.Since).Hours()
		s.SpentUSD = &spent
	}
	if stack.Refusal != nil {
		s.Problems = append(s.Problems, "the last update was refused: "+
			strings.Join(strings.Fields(stack.Refusal.Summary+": "+stack.Refusal.Cause), " "))
	}
}

func (s *Status) readNodes(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		node := &list.Items[i]
		gpus, efa := node.Status.Allocatable[preflight.GPUResource], node.Status.Allocatable[preflight.EFAResource]
		if gpus.IsZero() && efa.IsZero() {
			continue
		}
		s.Nodes = append(s.Nodes, Node{
			Name: node.Name, GPUs: gpus.Value(), EFA: efa.Value(),
			Ready: slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}),
		})
	}
	return nil
}

func (s *Status) readPods(ctx context.Context, client kubernetes.Interface, target Target) error {
	list, err := client.CoreV1().Pods(target.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "ray.io/cluster=" + target.RayCluster,
	})
	if err != nil {
		return fmt.Errorf("listing the pods of RayCluster %q: %w", target.RayCluster, err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		s.Pods = append(s.Pods, Pod{
			Name: pod.Name, Node: pod.Spec.NodeName, Head: pod.Labels["ray.io/node-type"] == "head",
			Phase: string(pod.Status.Phase),
			Ready: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}),
		})
	}
	return nil
}

// readJob asks Ray about the recorded job. A job that was judged needs no head.
func (s *Status) readJob(
	ctx context.Context, cluster Cluster, target Target, record attempt.Record, now time.Time,
) (err error) {
	s.Job = &Job{SubmissionID: record.SubmissionID, Attempt: record.Number, Status: record.JobStatus}
	if record.Settled && record.Verdict != "" {
		return nil
	}
	ray, token, err := cluster.Ray(ctx, target.Namespace, target.RayCluster)
	if err != nil {
		return err
	}
	job, err := ray.Job(ctx, record.SubmissionID)
	if errors.Is(err, rayapi.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Job.Status = job.Status
	if job.StartTime > 0 {
		ended := now
		if job.EndTime > 0 {
			ended = time.UnixMilli(job.EndTime)
		}
		seconds := int(ended.Sub(time.UnixMilli(job.StartTime)).Seconds())
		s.Job.Seconds = &seconds
	}
	dir, err := os.MkdirTemp("", "raytrain-status-")
	if err != nil {
		return fmt.Errorf("making a folder for the job's files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	collector := evidence.NewCollector(ray, evidence.Copies{
		SubmissionID: record.SubmissionID, Dir: dir, Token: token,
	})
	defer func() { err = errors.Join(err, collector.Close()) }()
	err = collector.Collect(ctx) // what it could read still counts
	seen := evidence.NewWatch(evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: record.SubmissionID, Nonce: record.Nonce, WorldSize: record.WorldSize, Nodes: record.Nodes,
		},
		Provider: record.Provider, Script: record.Script,
	}).Look(collector.Files())
	s.Verdict, s.Job.Ranks, s.Job.Progress = seen.Verdict, &seen.Ranks, seen.Progress
	return err
}
