package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Cluster is the gate's access to a cluster; kube.Cluster implements it.
type Cluster interface {
	Kubernetes() kubernetes.Interface
	Ray(ctx context.Context, namespace, rayCluster string) (client *rayapi.Client, token string, err error)
	Exec(ctx context.Context, namespace, pod string, command []string) (string, error)
	Presence(ctx context.Context, name, region string) (kube.Presence, error)
	Account(ctx context.Context) (string, error)
}

// Environment holds the gate's dependencies.
type Environment struct {
	Connect func(kubeconfig string) (Cluster, error)
	// Code is the zip of the training code, Entrypoint its command.
	Code       []byte
	Entrypoint string
	// Rehearsed is true in a rehearsal.
	Rehearsed bool
	// AbandonCluster is the name of an unreachable cluster whose job may be removed from the state
	// although it may still run; usually empty.
	AbandonCluster string
	Now            func() time.Time
	Sleep          func(ctx context.Context, d time.Duration) error
	// Log shows the user one line of progress.
	Log func(ctx context.Context, line string)
	// Info shows the user a text that stays visible after the update, Warn a warning.
	Info, Warn func(ctx context.Context, text string)
	// Events receives the refusal of a failed update.
	Events eventlog.Log
}

// TrainingJob is the resource raytrain:index:TrainingJob.
type TrainingJob struct {
	env Environment
}

// New returns the resource.
func New(env Environment) TrainingJob { return TrainingJob{env} }

var (
	_ infer.CustomResource[jobs.Inputs, State] = TrainingJob{}
	_ infer.CustomCheck[jobs.Inputs]           = TrainingJob{}
	_ infer.CustomDiff[jobs.Inputs, State]     = TrainingJob{}
	_ infer.CustomUpdate[jobs.Inputs, State]   = TrainingJob{}
	_ infer.CustomRead[jobs.Inputs, State]     = TrainingJob{}
	_ infer.CustomDelete[State]                = TrainingJob{}
)

// Annotate sets the resource's token.
func (TrainingJob) Annotate(a infer.Annotator) {
	a.SetToken("index", "TrainingJob")
}

// instanceLength is the length of the random part of a resource's id.
const instanceLength = 8

func resourceID(name, instance string) string { return name + "-" + instance }

// splitID returns the parts of a resource's id.
func splitID(id string) (name, instance string, err error) {
	i := strings.LastIndexByte(id, '-')
	if i < 1 || len(id)-i-1 != instanceLength {
		return "", "", fmt.Errorf("reading resource id %q: %w", id, errForeignID)
	}
	return id[:i], id[i+1:], nil
}

var errForeignID = errors.New("not created by this provider; " +
	"next: pulumi state delete URN (does not stop the job)")

// proof returns the proof of a run with these inputs.
func (t TrainingJob) proof(in jobs.Inputs) (attempt.Proof, error) {
	return attempt.NewProof(in, attempt.Code{Revision: train.Revision(t.env.Code), Entrypoint: t.env.Entrypoint})
}

// Create runs the job, or continues the one of an interrupted update. In a preview it does nothing.
func (t TrainingJob) Create(
	ctx context.Context, req infer.CreateRequest[jobs.Inputs],
) (infer.CreateResponse[State], error) {
	if req.DryRun {
		return infer.CreateResponse[State]{Output: unproven(req.Inputs, t.env.Rehearsed)}, nil
	}
	operation, err := t.prepare(ctx, req.Name, "", req.Inputs, State{})
	if err != nil {
		return infer.CreateResponse[State]{}, err
	}
	state, instance, err := operation.execute(ctx)
	if err != nil {
		return infer.CreateResponse[State]{}, err
	}
	return infer.CreateResponse[State]{ID: resourceID(req.Name, instance), Output: state}, t.fail(ctx, state)
}

// Update runs a job only when the required proof is missing; other changes are only stored.
func (t TrainingJob) Update(
	ctx context.Context, req infer.UpdateRequest[jobs.Inputs, State],
) (infer.UpdateResponse[State], error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	proof, err := t.proof(req.Inputs)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	stored := infer.UpdateResponse[State]{Output: req.State.withInputs(req.Inputs)}
	reason := t.rerunReason(req.State, req.Inputs, proof)
	if req.DryRun {
		if reason == "" {
			reason = t.recordProblem(ctx, req.ID, req.State)
		}
		if reason == "" {
			return stored, nil
		}
		t.env.Info(ctx, "this update runs the job again: "+reason)
		return infer.UpdateResponse[State]{Output: unproven(req.Inputs, t.env.Rehearsed)}, nil
	}
	operation, err := t.prepare(ctx, name, instance, req.Inputs, req.State)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	if reason == "" {
		// The cluster behind a new kubeconfig may be another one, which has no such record.
		reason, err = operation.compareRecord(ctx, req.State)
	}
	if err != nil || reason == "" {
		return stored, err
	}
	t.env.Info(ctx, "running the job again: "+reason)
	state, _, err := operation.execute(ctx)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	return infer.UpdateResponse[State]{Output: state}, t.fail(ctx, state)
}

// fail reports a failed state as an event and returns the error for the update; nil if the state
// passed.
func (t TrainingJob) fail(ctx context.Context, state State) error {
	if state.Refusal != nil {
		if err := t.env.Events.Append(eventlog.Event{Refusal: state.Refusal}); err != nil {
			t.env.Log(ctx, err.Error()) // the state holds the refusal too
		}
	}
	return state.failure()
}

var errNoImport = errors.New("a TrainingJob cannot be imported; next: declare it in the program " +
	"and run `pulumi up`")

// prepare connects to the cluster. instance and state are empty for a resource that is being created.
func (t TrainingJob) prepare(
	ctx context.Context, name, instance string, in jobs.Inputs, state State,
) (operation, error) {
	proof, err := t.proof(in)
	if err != nil {
		return operation{}, err
	}
	cluster, err := t.env.Connect(in.Kubeconfig)
	if err != nil {
		return operation{}, fmt.Errorf("connecting to cluster %q: %w", in.ClusterName, err)
	}
	return operation{
		env: t.env, in: in, name: name, instance: instance, proof: proof, cluster: cluster,
		known: state.Attempt, submissionID: state.SubmissionID,
		store: attempt.NewStore(cluster.Kubernetes(), in.Namespace, name),
	}, ctx.Err()
}
