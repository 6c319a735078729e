package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/counters"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

// runner carries one operation on one resource.
type runner struct {
	env      Environment
	in       Inputs
	name     string
	instance string
	// known is the newest attempt number that the state tells.
	known   int
	hash    string
	cluster Cluster
	store   *attempt.Store

	// ray and token are set by connectRay.
	ray   *rayapi.Client
	token string
	// previous is the record that was found; nil for none.
	previous *attempt.Record
	// record is the attempt that is being worked on; zero before there is one.
	record attempt.Record
	// workers are the worker pods' names, and before their counters before the job.
	workers []string
	before  map[string]counters.Reading
	// seenAround is what the cluster told before the job was submitted; empty
	// for an adopted one.
	seenAround witness
}

// proved tells whether the cluster's own record is that of the state's proof.
func (r *runner) proved(ctx context.Context, state State) (bool, error) {
	record, err := r.store.Load(ctx)
	if err != nil {
		return false, err
	}
	return record != nil && record.Instance == r.instance && record.Number == state.Attempt &&
		record.ProofHash == state.ProofHash, nil
}

// execute brings the wanted proof about. An error means that no attempt was
// begun; once one is, whatever happens is in the state, so that a destroy can
// find and stop its job. A create that was interrupted before it had a name for
// itself has nothing to find, and must leave no state under half an id.
func (r *runner) execute(ctx context.Context) (State, error) {
	state, err := r.advance(ctx)
	switch {
	case err == nil:
		return state, nil
	case ctx.Err() != nil && r.instance != "":
		return r.interrupted(context.Cause(ctx)), nil //nolint:nilerr // the state fails the update, and keeps the cause
	case r.record.SubmissionID != "":
		return r.interrupted(err), nil
	default:
		return State{}, err
	}
}

func (r *runner) advance(ctx context.Context) (State, error) {
	action, err := r.decide(ctx)
	if errors.Is(err, rayapi.ErrUnreachable) && ctx.Err() == nil {
		// A head that starts, or starts again, does not answer yet. The preflight
		// waits for it, or says what keeps it.
		findings, waitErr := r.preflight(ctx)
		switch {
		case waitErr != nil:
			return State{}, errors.Join(err, waitErr)
		case len(findings) > 0:
			return r.refusedBefore(findings), nil
		}
		action, err = r.decide(ctx)
	}
	if err != nil {
		return State{}, err
	}
	if action != attempt.Adopt {
		if err := r.passOver(ctx); err != nil {
			return State{}, err
		}
		findings, err := r.preflight(ctx)
		if err != nil {
			return State{}, err
		}
		if len(findings) > 0 {
			return r.refusedBefore(findings), nil
		}
		if err := r.submit(ctx); err != nil {
			return State{}, err
		}
	}
	return r.finish(ctx)
}

// decide loads the record, asks Ray about its job and says what to do. It names
// the instance: that of the resource, of the killed create that is taken over,
// or a new one.
func (r *runner) decide(ctx context.Context) (attempt.Action, error) {
	record, err := r.store.Load(ctx)
	if err != nil {
		return "", err
	}
	if record == nil {
		r.nameInstance("")
		return attempt.Submit, nil
	}
	r.previous = record
	if record.Settled {
		r.nameInstance("")
	} else {
		r.nameInstance(record.Instance)
	}
	job, err := r.seen(ctx, *record)
	if err != nil {
		return "", err
	}
	action := attempt.Decide(record, job, r.hash)
	switch action {
	case attempt.Adopt:
		r.record = *record
		r.before = record.Counters
		r.env.Log(ctx, fmt.Sprintf("adopting attempt %d, job %s", record.Number, record.SubmissionID))
		r.workers, err = r.workerPods(ctx)
		return action, err
	case attempt.StopThenSubmit:
		return action, r.stop(ctx, *record)
	default:
		return action, nil
	}
}

// passOver settles an attempt that is not gone on with: a preflight that refuses
// the next one must not leave it to be adopted later, when its job was stopped or
// its success is old.
func (r *runner) passOver(ctx context.Context) error {
	if r.previous == nil || r.previous.Settled {
		return nil
	}
	r.previous.Settled = true
	return r.store.Save(ctx, *r.previous)
}

func (r *runner) nameInstance(recorded string) {
	switch {
	case r.instance != "":
	case recorded != "":
		r.instance = recorded
	default:
		r.instance = attempt.NewNonce()[:instanceLength]
	}
}

// seen is Ray's answer about a record's job; a head that is not there knows none.
func (r *runner) seen(ctx context.Context, record attempt.Record) (attempt.Job, error) {
	running, err := r.headRuns(ctx)
	if err != nil || !running {
		return attempt.Absent, err
	}
	job, err := r.lookUp(ctx, record)
	if err != nil {
		return "", err
	}
	return attempt.Classify(record, job), nil
}

// lookUp asks Ray for a record's job; nil when Ray does not know it.
func (r *runner) lookUp(ctx context.Context, record attempt.Record) (*rayapi.Job, error) {
	if err := r.connectRay(ctx); err != nil {
		return nil, err
	}
	job, err := r.ray.Job(ctx, record.SubmissionID)
	if errors.Is(err, rayapi.ErrNotFound) {
		return nil, nil //nolint:nilnil // no job is a regular answer
	}
	if err != nil {
		return nil, err
	}
	return &job, nil
}

func (r *runner) connectRay(ctx context.Context) error {
	if r.ray != nil {
		return nil
	}
	ray, token, err := r.cluster.Ray(ctx, r.in.Namespace, r.in.RayCluster)
	if err != nil {
		return err
	}
	r.ray, r.token = ray, token
	return nil
}

// headRuns tells whether the RayCluster has a head pod whose Ray runs.
func (r *runner) headRuns(ctx context.Context) (bool, error) {
	pods, err := r.cluster.Kubernetes().CoreV1().Pods(r.in.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: forward.HeadSelector(r.in.RayCluster)})
	if err != nil {
		return false, fmt.Errorf("looking for the head of RayCluster %q: %w", r.in.RayCluster, err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && rayRuns(pod) {
			return true, nil
		}
	}
	return false, nil
}

// rayRuns says whether a running pod's Ray container runs: a pod whose container
// crashes again and again is "Running" all the while, and holds no job. KubeRay
// makes the first container Ray's. Without a word about it, it runs.
func rayRuns(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if len(pod.Spec.Containers) > 0 && status.Name == pod.Spec.Containers[0].Name {
			return status.State.Waiting == nil && status.State.Terminated == nil
		}
	}
	return true
}

func (r *runner) workerPods(ctx context.Context) ([]string, error) {
	pods, err := r.cluster.Kubernetes().CoreV1().Pods(r.in.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "ray.io/cluster=" + r.in.RayCluster + ",ray.io/node-type=worker"})
	if err != nil {
		return nil, fmt.Errorf("listing the workers of RayCluster %q: %w", r.in.RayCluster, err)
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, nil
}

// preflightPoll is the time between two looks at a cluster that is not ready.
const preflightPoll = 3 * time.Second

// preflight waits, at most as long as the inputs say and no longer than waiting
// can help, until nothing is amiss, and returns what still is.
func (r *runner) preflight(ctx context.Context) ([]jobs.Finding, error) {
	want := r.wanted()
	deadline := r.env.Now().Add(time.Duration(r.in.ReadySeconds) * time.Second)
	var patience preflight.Patience
	for {
		facts, err := r.gather(ctx, want)
		var findings []jobs.Finding
		if err == nil {
			r.seenAround = witness{nodes: preflight.NodesSeen(facts), pods: preflight.PodsSeen(facts, want)}
			findings = preflight.Check(facts, want)
			if len(findings) == 0 {
				r.workers, err = r.workerPods(ctx)
				r.probe(ctx)
				return r.seenAround.refusals(), err
			}
			if patience.Over(facts, want, r.env.Now()) {
				return findings, nil
			}
			r.env.Log(ctx, "waiting for the cluster: "+findings[0].Code+", "+findings[0].Text)
		}
		if !r.env.Now().Before(deadline) {
			return findings, err
		}
		if sleepErr := r.env.Sleep(ctx, preflightPoll); sleepErr != nil {
			return findings, errors.Join(sleepErr, err)
		}
	}
}

// gather connects to Ray anew each time: the Secret with its token appears
// together with the head.
func (r *runner) gather(ctx context.Context, want preflight.Wanted) (preflight.Facts, error) {
	r.ray = nil
	if err := r.connectRay(ctx); err != nil {
		return preflight.Facts{}, err
	}
	return preflight.Gather(ctx, r.cluster.Kubernetes(), r.ray, want)
}

// submit records the next attempt and starts it. The record comes first: what
// is killed from here on can be found again.
func (r *runner) submit(ctx context.Context) error {
	record := attempt.Next(r.previous, r.known, r.instance, r.name, r.hash)
	version, err := r.ray.Version(ctx)
	if err != nil {
		return err
	}
	record.Session = version.SessionName
	r.before = counters.Read(ctx, r.exec, r.workers)
	record.Counters = r.before // whoever adopts the job has to know them
	if err := r.store.Save(ctx, record); err != nil {
		return err
	}
	r.record = record
	uri, err := r.ray.EnsurePackage(ctx, r.env.Code)
	if err != nil {
		return err
	}
	environment, err := jobEnvironment(r.in, record)
	if err != nil {
		return err
	}
	job, err := r.ray.Submit(ctx, rayapi.Submission{
		ID: record.SubmissionID, Entrypoint: r.env.Entrypoint,
		RuntimeEnv: rayapi.RuntimeEnv{WorkingDir: uri, EnvVars: environment},
		Metadata: map[string]string{
			attempt.MetadataNonce: record.Nonce, "raytrain-proof": r.hash, "raytrain-instance": r.instance,
		},
	})
	if err != nil {
		return err
	}
	if attempt.Classify(record, &job) == attempt.Foreign {
		return fmt.Errorf("submitting job %q: %w; `pulumi up` takes the next number", record.SubmissionID, errForeignJob)
	}
	r.env.Log(ctx, fmt.Sprintf("submitted attempt %d, job %s", record.Number, record.SubmissionID))
	return nil
}

var errForeignJob = errors.New("somebody else submitted a job with this id")

// finish waits for the job, gathers, judges, files and settles.
func (r *runner) finish(ctx context.Context) (State, error) {
	collector := evidence.NewCollector(r.ray, r.record.SubmissionID)
	end, err := r.wait(ctx, collector)
	if err != nil {
		return State{}, err
	}
	gaps := collector.Finish(ctx, evidence.Clock{Now: r.env.Now, Sleep: r.env.Sleep})
	log := r.driverLog(ctx, end.job)
	moved := r.movedBytes(ctx)
	if err := ctx.Err(); err != nil { // what was cut short is no evidence
		return State{}, err
	}
	judgement, err := evidence.Judge(ctx, evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: r.record.SubmissionID, Nonce: r.record.Nonce,
			WorldSize: r.in.Expectations.WorldSize, Nodes: r.in.Expectations.Nodes,
		},
		Provider: r.in.Expectations.Provider, Status: end.job.Status, Files: collector.Files(), Gaps: gaps,
		Counters: moved, CountersWanted: r.in.Expectations.EFACounters,
	})
	if err != nil {
		return State{}, err
	}
	state, err := r.conclude(end, judgement, moved, log, collector.Files())
	if err != nil {
		return State{}, err
	}
	// Settled last: an update that is killed before this judges again.
	r.record.Settled = true
	if err := r.store.Save(ctx, r.record); err != nil {
		return State{}, err
	}
	return state, nil
}
