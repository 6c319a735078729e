package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// gateName is the name of the program's TrainingJob, and namespace that of its RayCluster.
const gateName, namespace = "gate", "ray"

// allPods and workerPods select pods of the RayCluster.
const (
	allPods    = "ray.io/cluster=" + workloads.RayClusterName
	workerPods = allPods + ",ray.io/node-type=worker"
)

// cluster is the rehearsed cluster as a person with kubectl sees it.
type cluster struct {
	*kube.Cluster
	name string
}

// connect connects to the stack's cluster with the credentials of the rehearsal.
func (r *Rehearsal) connect(ctx context.Context) (cluster, error) {
	state, err := r.State(ctx)
	if err != nil {
		return cluster{}, err
	}
	if err := r.writeKubeconfig(ctx, state); err != nil {
		return cluster{}, err
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(r.options.Dir, "kubeconfig"))
	if err != nil {
		return cluster{}, fmt.Errorf("reading the rehearsal's kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		if user.Exec != nil { // this process has not the environment of Environment
			user.Exec.Command = filepath.Join(r.options.Dir, "bin", "aws")
			user.Exec.Env = []clientcmdapi.ExecEnvVar{{Name: client.EnvDir, Value: r.options.Dir}}
		}
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return cluster{}, fmt.Errorf("encoding the rehearsal's kubeconfig: %w", err)
	}
	connected, err := kube.Connect(string(text))
	return cluster{Cluster: connected, name: state.Cluster}, err
}

func (c cluster) pods(ctx context.Context, selector string) ([]corev1.Pod, error) {
	list, err := c.Kubernetes().CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing pods %q: %w", selector, err)
	}
	return list.Items, nil
}

// deletePods deletes pods without a grace period.
func (c cluster) deletePods(ctx context.Context, selector string) error {
	now := int64(0)
	err := c.Kubernetes().CoreV1().Pods(namespace).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("deleting pods %q: %w", selector, err)
	}
	return nil
}

// worker returns one worker pod.
func (c cluster) worker(ctx context.Context) (corev1.Pod, error) {
	workers, err := c.pods(ctx, workerPods)
	if err == nil && len(workers) == 0 {
		err = errors.New("the RayCluster has no worker pods")
	}
	if err != nil {
		return corev1.Pod{}, err
	}
	return workers[len(workers)-1], nil
}

func (c cluster) deleteWorker(ctx context.Context) error {
	worker, err := c.worker(ctx)
	if err != nil {
		return err
	}
	now := int64(0)
	err = c.Kubernetes().CoreV1().Pods(namespace).Delete(ctx, worker.Name,
		metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil {
		return fmt.Errorf("deleting pod %q: %w", worker.Name, err)
	}
	return nil
}

// swapImage changes the image of one worker pod. The kubelet restarts its container with it.
func (c cluster) swapImage(ctx context.Context, image string) error {
	worker, err := c.worker(ctx)
	if err != nil {
		return err
	}
	container := map[string]string{"name": worker.Spec.Containers[0].Name, "image": image}
	patch, err := json.Marshal(map[string]any{
		"spec": map[string]any{"containers": []any{container}},
	})
	if err != nil {
		return fmt.Errorf("encoding the image of pod %q: %w", worker.Name, err)
	}
	pods := c.Kubernetes().CoreV1().Pods(namespace)
	_, err = pods.Patch(
		ctx,
		worker.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	if err != nil {
		return fmt.Errorf("changing the image of pod %q: %w", worker.Name, err)
	}
	return nil
}

func (c cluster) deleteRecord(ctx context.Context) error {
	err := c.Kubernetes().CoreV1().ConfigMaps(namespace).Delete(ctx, "raytrain-"+gateName,
		metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting the attempt's record: %w", err)
	}
	return nil
}

// activeJobs returns the gate's jobs that run. One that is PENDING cannot be stopped, and uses no GPU.
func (c cluster) activeJobs(ctx context.Context) (*rayapi.Client, []rayapi.Job, error) {
	ray, _, err := c.Ray(ctx, namespace, workloads.RayClusterName)
	if err != nil {
		return nil, nil, err
	}
	all, err := ray.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	var active []rayapi.Job
	for _, job := range all {
		if job.Status == rayapi.Running && job.Metadata[attempt.MetadataName] == gateName {
			active = append(active, job)
		}
	}
	return ray, active, nil
}

func (c cluster) stopJobs(ctx context.Context) error {
	ray, active, err := c.activeJobs(ctx)
	if err != nil {
		return err
	}
	for _, job := range active {
		if _, err := ray.StopAndWait(ctx, job.SubmissionID, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// Invariants returns what holds after every step of every rehearsal and does not hold now: at most
// one job runs, none after a verdict, and the record in the cluster belongs to the state.
func (r *Rehearsal) Invariants(ctx context.Context) ([]string, error) {
	state, err := r.State(ctx)
	if err != nil || state.Job == nil {
		return nil, err
	}
	c, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	record, err := attempt.NewStore(c.Kubernetes(), namespace, gateName).Load(ctx)
	if err != nil {
		return nil, err
	}
	broken := recordProblems(state.Job, record)
	_, active, err := c.activeJobs(ctx)
	switch {
	case err != nil: // a head that was killed has no jobs, and may not be back yet
		return broken, nil //nolint:nilerr // see above
	case len(active) > 1:
		broken = append(broken, fmt.Sprintf("%d jobs run at once", len(active)))
	case len(active) == 1 && state.Verdict() != VerdictNone:
		broken = append(
			broken,
			fmt.Sprintf("job %s runs after the verdict", active[0].SubmissionID),
		)
	}
	return broken, nil
}

// recordProblems compares the state of the gate with the record in the cluster.
func recordProblems(job *Job, record *attempt.Record) []string {
	var problems []string
	judged := job.Verdict != VerdictNone && job.Verdict != ""
	switch {
	case record == nil && job.Attempt > 0:
		problems = append(problems, fmt.Sprintf("attempt %d has no record", job.Attempt))
	case record == nil:
	case record.Number != job.Attempt:
		problems = append(problems, fmt.Sprintf("the state has attempt %d, the record %d",
			job.Attempt, record.Number))
	case job.SubmissionID != "" && record.SubmissionID != job.SubmissionID:
		problems = append(problems, fmt.Sprintf("the state has job %q, the record %q",
			job.SubmissionID, record.SubmissionID))
	case judged && !record.Settled:
		problems = append(
			problems,
			fmt.Sprintf("attempt %d is judged but not settled", record.Number),
		)
	}
	return problems
}

// podsTimeout is how long new pods may take to become ready on a busy machine.
const podsTimeout = 5 * time.Minute

// ResetPods replaces the pods of the RayCluster and waits until the new ones are ready.
func (r *Rehearsal) ResetPods(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	old, err := c.pods(ctx, allPods)
	if err != nil {
		return err
	}
	if err := c.deletePods(ctx, allPods); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	known := map[types.UID]bool{}
	for _, pod := range old {
		known[pod.UID] = true
	}
	for {
		pods, err := c.pods(ctx, allPods)
		if err == nil && len(pods) >= len(old) && allNewAndReady(pods, known) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf(
				"waiting for new pods of the RayCluster: %w",
				errors.Join(ctx.Err(), err),
			)
		case <-time.After(time.Second):
		}
	}
}

func allNewAndReady(pods []corev1.Pod, old map[types.UID]bool) bool {
	for _, pod := range pods {
		ready := false
		for _, condition := range pod.Status.Conditions {
			ready = ready ||
				condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}
		if old[pod.UID] || !ready {
			return false
		}
	}
	return true
}
