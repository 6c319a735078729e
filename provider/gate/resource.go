package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Cluster is what the gate needs of a cluster; kube.Cluster is the real one.
type Cluster interface {
	Kubernetes() kubernetes.Interface
	Ray(ctx context.Context, namespace, rayCluster string) (client *rayapi.Client, token string, err error)
	Exec(ctx context.Context, namespace, pod string, command []string) (string, error)
	Presence(ctx context.Context, name, region string) (kube.Presence, error)
}

// Environment is everything outside that the gate depends on.
type Environment struct {
	Connect func(kubeconfig string) (Cluster, error)
	// Code is the zip of the training code, Entrypoint its command.
	Code       []byte
	Entrypoint string
	// Rehearsed is true on the embedded cloud.
	Rehearsed bool
	// AbandonCluster is the name of an unreachable cluster whose job may be
	// given up without knowing whether it runs; usually empty.
	AbandonCluster string
	Now            func() time.Time
	Sleep          func(ctx context.Context, d time.Duration) error
	// Log tells a person what is going on, one line at a time.
	Log func(ctx context.Context, line string)
}

// TrainingJob is the resource raytrain:index:TrainingJob.
type TrainingJob struct {
	env Environment
}

// New makes the resource.
func New(env Environment) TrainingJob { return TrainingJob{env} }

var (
	_ infer.CustomResource[Inputs, State] = TrainingJob{}
	_ infer.CustomCheck[Inputs]           = TrainingJob{}
	_ infer.CustomDiff[Inputs, State]     = TrainingJob{}
	_ infer.CustomUpdate[Inputs, State]   = TrainingJob{}
	_ infer.CustomRead[Inputs, State]     = TrainingJob{}
	_ infer.CustomDelete[State]           = TrainingJob{}
)

// Annotate gives the resource its token.
func (TrainingJob) Annotate(a infer.Annotator) {
	a.SetToken("index", "TrainingJob")
}

// instanceLength is that of the random part of a resource's id.
const instanceLength = 8

func resourceID(name, instance string) string { return name + "-" + instance }

// splitID takes a resource id apart.
func splitID(id string) (name, instance string, err error) {
	i := strings.LastIndexByte(id, '-')
	if i < 1 || len(id)-i-1 != instanceLength {
		return "", "", fmt.Errorf("reading resource id %q: %w", id, errForeignID)
	}
	return id[:i], id[i+1:], nil
}

var errForeignID = errors.New("not made by this provider; next: pulumi state delete URN, which forgets the job and stops nothing")

// Create runs the job, or adopts the one that a killed update left running.
// Nothing runs in a preview.
func (t TrainingJob) Create(
	ctx context.Context, req infer.CreateRequest[Inputs],
) (infer.CreateResponse[State], error) {
	if req.DryRun {
		return infer.CreateResponse[State]{Output: t.unproven(req.Inputs)}, nil
	}
	run, err := t.prepare(ctx, req.Name, "", req.Inputs, 0)
	if err != nil {
		return infer.CreateResponse[State]{}, err
	}
	state, err := run.execute(ctx)
	if err != nil {
		return infer.CreateResponse[State]{}, err
	}
	return infer.CreateResponse[State]{ID: resourceID(req.Name, run.instance), Output: state}, state.failure()
}

// Update runs a job only when the wanted proof is not at hand; other changes
// are stored.
func (t TrainingJob) Update(
	ctx context.Context, req infer.UpdateRequest[Inputs, State],
) (infer.UpdateResponse[State], error) {
	name, instance, err := splitID(req.ID)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	hash, err := t.proofHash(req.Inputs)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	proven := req.State.green() && hash == req.State.ProofHash
	if req.DryRun {
		if !proven {
			return infer.UpdateResponse[State]{Output: t.unproven(req.Inputs)}, nil
		}
		return infer.UpdateResponse[State]{Output: withInputs(req.State, req.Inputs)}, nil
	}
	run, err := t.prepare(ctx, name, instance, req.Inputs, req.State.Attempt)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	if proven {
		// The cluster behind a new kubeconfig may be another one, which proved
		// nothing: its record tells.
		proven, err = run.proved(ctx, req.State)
		if err != nil {
			return infer.UpdateResponse[State]{}, err
		}
	}
	if proven {
		return infer.UpdateResponse[State]{Output: withInputs(req.State, req.Inputs)}, nil
	}
	state, err := run.execute(ctx)
	if err != nil {
		return infer.UpdateResponse[State]{}, err
	}
	return infer.UpdateResponse[State]{Output: state}, state.failure()
}

// Read returns what is stored, and the same error again for a red state: a
// refresh must not heal it.
func (t TrainingJob) Read(
	_ context.Context, req infer.ReadRequest[Inputs, State],
) (infer.ReadResponse[Inputs, State], error) {
	if _, _, err := splitID(req.ID); err != nil {
		return infer.ReadResponse[Inputs, State]{}, err
	}
	if req.State.Verdict == "" {
		return infer.ReadResponse[Inputs, State]{}, fmt.Errorf("importing %q: %w", req.ID, errNoImport)
	}
	return infer.ReadResponse[Inputs, State](req), req.State.failure()
}

var errNoImport = errors.New("a TrainingJob cannot be imported: declare it, and `pulumi up` runs it")

// unproven is the state of a job that did not run (yet).
func (t TrainingJob) unproven(in Inputs) State {
	return State{
		Inputs: in, Verdict: jobs.VerdictNone, Rehearsed: t.env.Rehearsed,
		Findings: []jobs.Finding{}, Ranks: []jobs.Rank{}, Nodes: []jobs.Node{}, Pods: []jobs.Pod{},
	}
}

func withInputs(state State, in Inputs) State {
	state.Inputs = in
	return state
}

// prepare connects. instance is empty for a resource that is being created,
// known the newest attempt number that its state tells.
func (t TrainingJob) prepare(
	ctx context.Context, name, instance string, in Inputs, known int,
) (*runner, error) {
	hash, err := t.proofHash(in)
	if err != nil {
		return nil, err
	}
	cluster, err := t.env.Connect(in.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q: %w", in.ClusterName, err)
	}
	return &runner{
		env: t.env, in: in, name: name, instance: instance, known: known, hash: hash, cluster: cluster,
		store: attempt.NewStore(cluster.Kubernetes(), in.Namespace, name),
	}, ctx.Err()
}
