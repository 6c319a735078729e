package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

// head is a client of the Ray head, with its token.
type head struct {
	*rayapi.Client
	token string
}

// redact removes the cluster's token from text, because user code can print it.
func (h head) redact(text []byte) []byte {
	return evidence.RedactText(text, h.token)
}

// connect returns a client of the RayCluster's head. Nothing is sent yet.
func (o operation) connect(ctx context.Context) (head, error) {
	client, token, err := o.cluster.Ray(ctx, o.in.Namespace, o.in.RayCluster)
	return head{Client: client, token: token}, err
}

// jobState returns the state of a recorded job. Without a running head there is no job, because the
// job ended with the head's pod.
func (o operation) jobState(ctx context.Context, record attempt.Record) (attempt.JobState, head, error) {
	running, err := o.headRuns(ctx)
	if err != nil {
		return "", head{}, err
	}
	if !running {
		return attempt.Classify(record, nil, ""), head{}, nil
	}
	// A running head that does not respond may still run the job.
	ray, err := o.connect(ctx)
	if err != nil {
		return "", head{}, err
	}
	version, err := ray.Version(ctx)
	if err != nil {
		return "", ray, err
	}
	job, err := ray.Job(ctx, record.SubmissionID)
	switch {
	case errors.Is(err, rayapi.ErrNotFound):
		return attempt.Classify(record, nil, version.SessionName), ray, nil
	case err != nil:
		return "", ray, err
	default:
		return attempt.Classify(record, &job, version.SessionName), ray, nil
	}
}

// stop stops the recorded job if it is active.
func (o operation) stop(ctx context.Context, record attempt.Record) error {
	job, ray, err := o.jobState(ctx, record)
	if err != nil || job != attempt.Active && job != attempt.Moved {
		return err
	}
	return o.stopJob(ctx, ray, record.SubmissionID)
}

// stopJob stops a job and waits until it has ended and its GPUs are free.
func (o operation) stopJob(ctx context.Context, ray head, id string) error {
	o.env.Log(ctx, "stopping job "+id)
	job, err := ray.StopAndWait(ctx, id, follow.StopTimeout)
	if err != nil {
		return fmt.Errorf("%w; %s", err, o.nextReplacePods())
	}
	return o.awaitFree(ctx, ray, []rayapi.Job{job})
}

// nextReplacePods is the next step when Ray does not end what runs in its pods.
func (o operation) nextReplacePods() string {
	return fmt.Sprintf("next: kubectl -n %s delete pod -l ray.io/cluster=%s (KubeRay creates new pods)",
		o.in.Namespace, o.in.RayCluster)
}

// freePoll is the polling interval for the actors of jobs that have ended. Those of Ray Train end
// about 3 s after the driver.
const freePoll = time.Second

// awaitFree waits until no actor of jobs that have ended holds a GPU. Others may stay: Ray Train's
// coordinator outlives its job.
func (o operation) awaitFree(ctx context.Context, ray head, ended []rayapi.Job) error {
	ended = slices.DeleteFunc(slices.Clone(ended), func(job rayapi.Job) bool {
		return job.JobID == "" || !job.Status.Final() // its driver never started, or it uses nothing yet
	})
	for waited := time.Duration(0); len(ended) > 0; waited += freePoll {
		actors, err := ray.Actors(ctx)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(actors, func(a rayapi.Actor) bool {
			return a.State == rayapi.Dead || a.Resources["GPU"] == 0 ||
				!slices.ContainsFunc(ended, func(job rayapi.Job) bool { return job.JobID == a.JobID })
		})
		switch {
		case len(left) == 0:
			return nil
		case waited >= follow.StopTimeout:
			return fmt.Errorf("waiting for the GPUs of ended jobs: %w: %d actors %s after the end, such as %s, "+
				"process %d on Ray node %.12s; %s", rayapi.ErrStillActive, len(left), follow.StopTimeout,
				left[0].ClassName, left[0].PID, left[0].NodeID, o.nextReplacePods())
		}
		o.env.Log(ctx, fmt.Sprintf("waiting until %d actors release their GPUs", len(left)))
		if err := o.env.Sleep(ctx, freePoll); err != nil {
			return err
		}
	}
	return nil
}

// ownJobs returns all jobs of this resource in Ray, ordered by submission id.
func (o operation) ownJobs(ctx context.Context, ray head) ([]rayapi.Job, error) {
	all, err := ray.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(all, func(job rayapi.Job) bool { return !o.owns(job) })
	slices.SortFunc(own, func(a, b rayapi.Job) int { return cmp.Compare(a.SubmissionID, b.SubmissionID) })
	return own, nil
}

// owns reports whether a job belongs to this resource: by instance or, during create, by name. A
// job without metadata belongs to it only if its id is in the state.
func (o operation) owns(job rayapi.Job) bool {
	instance, ours := job.Metadata[attempt.MetadataInstance]
	switch {
	case job.SubmissionID == "":
		return false
	case !ours:
		return job.SubmissionID == o.submissionID
	case o.instance == "":
		return job.Metadata[attempt.MetadataName] == o.name
	default:
		return instance == o.instance
	}
}

// headRuns reports whether the RayCluster has a head pod whose Ray container runs.
func (o operation) headRuns(ctx context.Context) (bool, error) {
	pods, err := o.cluster.Kubernetes().CoreV1().Pods(o.in.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: forward.HeadSelector(o.in.RayCluster)})
	if err != nil {
		return false, fmt.Errorf("looking for the head of RayCluster %q: %w", o.in.RayCluster, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && rayRuns(pod) {
			return true, nil
		}
	}
	return false, nil
}

// rayRuns reports whether the Ray container of a running pod runs: a pod in a crash loop has the
// phase Running, but no job. In KubeRay's pods the first container is Ray's. A container without a
// status counts as running.
func rayRuns(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if len(pod.Spec.Containers) > 0 && status.Name == pod.Spec.Containers[0].Name {
			return status.State.Waiting == nil && status.State.Terminated == nil
		}
	}
	return true
}

// workerPods returns the names of the RayCluster's worker pods.
func (o operation) workerPods(ctx context.Context) ([]string, error) {
	pods, err := o.cluster.Kubernetes().CoreV1().Pods(o.in.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "ray.io/cluster=" + o.in.RayCluster + ",ray.io/node-type=worker"})
	if err != nil {
		return nil, fmt.Errorf("listing the workers of RayCluster %q: %w", o.in.RayCluster, err)
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, nil
}

// exec runs a command in a worker pod.
func (o operation) exec(ctx context.Context, pod string, command []string) (string, error) {
	return o.cluster.Exec(ctx, o.in.Namespace, pod, command)
}
