package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

const (
	digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	// kubeconfig is parsed by Check only; the fixture's Connect ignores it.
	kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"k","cluster":{"server":"https://x"}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],"users":[{"name":"u","user":{}}]}`
	token = "the-ray-token"
)

// world is a cluster, its Ray head, and a stack with one TrainingJob in it.
type world struct {
	t      *testing.T
	server p.Provider
	urn    resource.URN

	ray  *raytest.Server
	kube *fake.Clientset
	// connectErr and presence play a cluster that is unreachable or gone.
	connectErr error
	presence   kube.Presence
	presentErr error
	// account is the AWS account of the credentials.
	account    string
	accountErr error
	env        gate.Environment
	// hangs makes a request to Ray wait until its caller ends it; nil never does.
	hangs func(*http.Request) bool
	// blocked reports whether requests to Ray fail; nil means never.
	blocked func() bool
	// exec answers commands in pods; nil means that they fail.
	exec func(pod string) string
	// execErr makes commands in a pod fail; nil never does.
	execErr func(pod string) error
	// commands is held while one runs: those of several pods run at once.
	commands sync.Mutex

	clock sync.Mutex
	now   time.Time
	// onSleep runs after each sleep.
	onSleep func()

	// fabric is the network that jobs use, script the outcome of each.
	fabric synth.Fabric
	script func(*rayapi.Job)
	// spoil changes a job's files before they are collected.
	spoil func(node, name string, text []byte) (string, []byte)

	// infos and warnings are what the user was shown.
	infos, warnings []string

	evidence string
	inputs   map[string]property.Value

	// id, state and old are what the engine keeps; id is empty without a resource.
	id    string
	state property.Map
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, urn: resource.NewURN("stack", "project", "", jobs.TrainingJobToken, "train"),
		ray: raytest.New(), now: time.Unix(1_700_000_000, 0), presence: kube.Present,
		fabric: synth.OnEFA, evidence: t.TempDir(),
		script: func(job *rayapi.Job) {
			job.Status, job.ExitCode = rayapi.Succeeded, new(int)
		},
	}
	t.Cleanup(w.ray.Close)
	w.ray.Token = token
	for _, id := range []string{"worker0", "worker1"} {
		w.ray.Nodes = append(w.ray.Nodes, rayapi.Node{
			ID: id, State: rayapi.Alive, Resources: map[string]float64{"GPU": 4},
		})
	}
	w.ray.OnSubmit = w.runJob
	w.kube = fake.NewClientset(
		node("n1"), node("n2"), pod("head", "head"), pod("w1", "worker"), pod("w2", "worker"))
	w.env = gate.Environment{
		Connect: func(string) (gate.Cluster, error) {
			return cluster{w}, w.connectErr
		},
		Code: []byte("code"), Entrypoint: "python -m raytrain_job",
		Now: w.time, Sleep: w.sleep, Log: func(context.Context, string) {}, Info: w.info, Warn: w.warn,
	}
	w.inputs = map[string]property.Value{
		"kubeconfig": property.New(kubeconfig).WithSecret(true), "clusterName": property.New("c"),
		"namespace": property.New("ray"), "rayCluster": property.New("train"),
		"imageDigest":           property.New("repo@" + digest),
		"environment":           property.New(map[string]property.Value{"NCCL_NET": property.New("Libfabric")}),
		"launchTemplateVersion": property.New("1"), "amiRelease": property.New("1.36-1"),
		"instanceType":   property.New("g6.12xlarge"),
		"chartVersions":  property.New(map[string]property.Value{"kuberay-operator": property.New("1.6.2")}),
		"rayClusterSpec": property.New("{}"),
		"training": property.New(map[string]property.Value{
			"model": property.New("tiny"), "steps": property.New(5.0), "batchSize": property.New(1.0),
			"sequenceLength": property.New(16.0), "learningRate": property.New(0.001), "seed": property.New(7.0),
			"device": property.New("cpu"), "wrapMinParameters": property.New(1000.0), "maxFailures": property.New(0.0),
		}),
		"expectations": property.New(map[string]property.Value{
			"worldSize": property.New(8.0), "nodes": property.New(2.0), "gpusPerNode": property.New(4.0),
			"efaPerNode": property.New(1.0), "provider": property.New("efa"),
			"requireEfaCounters": property.New(false), "requireFiInfo": property.New(false),
		}),
		"startupSeconds": property.New(30.0), "deadlineSeconds": property.New(300.0),
		"hourlyUsd": property.New(9.55), "awsRegion": property.New("us-east-2"),
		"evidenceDir": property.New(w.evidence),
	}
	w.start()
	return w
}

// start makes the provider; call it again after a change of env.
func (w *world) start() {
	w.t.Helper()
	w.server = gate.NewProvider(w.env)
}

func (w *world) time() time.Time {
	w.clock.Lock()
	defer w.clock.Unlock()
	return w.now
}

// sleep advances the clock without waiting.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.clock.Lock()
	w.now = w.now.Add(d)
	w.clock.Unlock()
	if w.onSleep != nil {
		w.onSleep()
	}
	return ctx.Err()
}

// waitForCopies waits until the files of a running job, which are copied in the background, are here.
func (w *world) waitForCopies() {
	w.t.Helper()
	const files = 17 // a log and a manifest of each rank, and a result
	require.Eventually(w.t, func() bool { return w.ray.Seen("GET /api/v0/logs/file") >= files },
		10*time.Second, time.Millisecond)
	time.Sleep(200 * time.Millisecond) // the last reply is on its way
}

func (w *world) warn(_ context.Context, text string) {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.warnings = append(w.warnings, text)
}

func (w *world) info(_ context.Context, text string) {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.infos = append(w.infos, text)
}

// actors gives all jobs these actors.
func (w *world) actors(list ...rayapi.Actor) {
	const id = "01000000"
	w.ray.Lock()
	defer w.ray.Unlock()
	for i := range list {
		list[i].JobID = id
	}
	w.ray.Actors = list
	for _, job := range w.ray.Jobs {
		job.JobID = id
	}
}

// watchLog calls see for every line of progress; the returned function returns them.
func (w *world) watchLog(see func(line string)) func() []string {
	var lines []string
	w.env.Log = func(_ context.Context, line string) {
		w.clock.Lock()
		lines = append(lines, line)
		w.clock.Unlock()
		see(line)
	}
	w.start()
	return func() []string { return lines }
}

type cluster struct{ w *world }

func (c cluster) Kubernetes() kubernetes.Interface { return c.w.kube }

func (c cluster) Ray(context.Context, string, string) (*rayapi.Client, string, error) {
	return rayapi.New(rayapi.Options{
		Transport: tunnel{c.w, &http.Transport{DisableKeepAlives: true}}, BaseURL: c.w.ray.URL(), Token: token, Sleep: c.w.sleep,
	}), token, nil
}

// tunnel is the port-forward to Ray.
type tunnel struct {
	w    *world
	next http.RoundTripper
}

func (t tunnel) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.w.blocked != nil && t.w.blocked() {
		return nil, errors.New("connection refused")
	}
	if t.w.hangs != nil && t.w.hangs(request) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return t.next.RoundTrip(request)
}

func (c cluster) Exec(_ context.Context, _, pod string, _ []string) (string, error) {
	c.w.commands.Lock()
	defer c.w.commands.Unlock()
	if c.w.execErr != nil {
		if err := c.w.execErr(pod); err != nil {
			return "", err
		}
	}
	if c.w.exec == nil {
		return "", errors.New("no exec")
	}
	return c.w.exec(pod), nil
}

func (c cluster) Presence(context.Context, string, string) (kube.Presence, error) {
	return c.w.presence, c.w.presentErr
}

func (c cluster) Account(context.Context) (string, error) { return c.w.account, c.w.accountErr }

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6.12xlarge"}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				"nvidia.com/gpu":        *quantity.NewQuantity(4, quantity.DecimalSI),
				"vpc.amazonaws.com/efa": *quantity.NewQuantity(1, quantity.DecimalSI),
			},
		},
	}
}

func pod(name, kind string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ray", Labels: map[string]string{
			"ray.io/cluster": "train", "ray.io/node-type": kind,
		}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "ray", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"vpc.amazonaws.com/efa": quantity.MustParse("1")},
		}}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "ray", ImageID: "registry/repo@" + digest}},
		},
	}
}

// runJob leaves behind what the ranks of a job would, and ends it.
func (w *world) runJob(job *rayapi.Job, submission rayapi.Submission) {
	environment := submission.RuntimeEnv.EnvVars
	run := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 4, Channels: 2, Fabric: w.fabric, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean, Pin: "Libfabric",
	}
	files, _ := run.Generate()
	for _, file := range files {
		var rank, pid int
		fields := strings.Split(file.Name, ".") // rank<r>.<host>.<pid>.log
		_, err := fmt.Sscanf(fields[0]+" "+fields[len(fields)-2], "rank%d %d", &rank, &pid)
		require.NoError(w.t, err)
		nodeID := fmt.Sprintf("worker%d", rank/4)
		manifest, err := json.Marshal(map[string]any{
			"rank": rank, "worldSize": 8, "node": nodeID, "host": "h", "pid": pid,
			"nonce": environment["RAYTRAIN_NONCE"], "submissionId": environment["RAYTRAIN_SUBMISSION_ID"],
			"ncclFile": file.Name, "device": "cpu",
		})
		require.NoError(w.t, err)
		w.leave(job, nodeID, file.Name, file.Data)
		w.leave(job, nodeID, fmt.Sprintf("rank%d.json", rank), manifest)
	}
	w.leave(job, "worker0", "result.json", []byte(`{"stepsPerSecond": 0.5, "steps": 5, "finalLoss": 2.5, "worldSize": 8}`))
	w.ray.AddFile(job.DriverNodeID, "job-driver-"+job.SubmissionID+".log", []byte("training\nRAY_AUTH_TOKEN="+token+"\nthe last line\n"))
	w.script(job)
}

func (w *world) leave(job *rayapi.Job, nodeID, name string, text []byte) {
	if w.spoil != nil {
		nodeID, text = w.spoil(nodeID, name, text)
	}
	if text != nil {
		w.ray.AddFile(nodeID, "raytrain/"+job.SubmissionID+"/"+name, text)
	}
}

// up does what the engine does with the resource in an update; the error is the
// one that the update fails with.
func (w *world) up() error {
	w.t.Helper()
	check, err := w.server.Check(w.t.Context(), p.CheckRequest{Urn: w.urn, Inputs: property.NewMap(w.inputs)})
	require.NoError(w.t, err)
	require.Empty(w.t, check.Failures)
	if w.id == "" {
		created, err := w.server.Create(w.t.Context(), p.CreateRequest{Urn: w.urn, Properties: check.Inputs})
		w.id, w.state = created.ID, created.Properties
		return reason(created.PartialState, err)
	}
	diff, err := w.server.Diff(w.t.Context(), p.DiffRequest{ID: w.id, Urn: w.urn, State: w.state, Inputs: check.Inputs})
	require.NoError(w.t, err)
	if !diff.HasChanges {
		return nil
	}
	updated, err := w.server.Update(w.t.Context(), p.UpdateRequest{ID: w.id, Urn: w.urn, State: w.state, Inputs: check.Inputs})
	if err == nil || updated.PartialState != nil {
		w.state = updated.Properties
	}
	return reason(updated.PartialState, err)
}

func reason(partial *p.InitializationFailed, err error) error {
	if partial != nil {
		return errors.New(strings.Join(partial.Reasons, "\n"))
	}
	return err
}

func (w *world) refresh() error {
	w.t.Helper()
	read, err := w.server.Read(w.t.Context(), p.ReadRequest{ID: w.id, Urn: w.urn, Properties: w.state, Inputs: property.NewMap(w.inputs)})
	if err == nil || read.PartialState != nil {
		w.id, w.state = read.ID, read.Properties
	}
	return reason(read.PartialState, err)
}

func (w *world) destroy() error {
	w.t.Helper()
	err := w.server.Delete(w.t.Context(), p.DeleteRequest{ID: w.id, Urn: w.urn, Properties: w.state})
	if err == nil {
		w.id, w.state = "", property.Map{}
	}
	return err
}

// hasChanges tells whether a preview shows a change.
func (w *world) hasChanges() bool {
	w.t.Helper()
	diff, err := w.server.Diff(w.t.Context(), p.DiffRequest{ID: w.id, Urn: w.urn, State: w.state, Inputs: property.NewMap(w.inputs)})
	require.NoError(w.t, err)
	return diff.HasChanges
}

func (w *world) text(key string) string { return w.state.Get(key).AsString() }

// submitted is the number of jobs that were ever started.
func (w *world) submitted() int {
	w.ray.Lock()
	defer w.ray.Unlock()
	return len(w.ray.Submissions)
}

// record is the attempt record in the cluster.
func (w *world) record() map[string]any {
	w.t.Helper()
	object, err := w.kube.CoreV1().ConfigMaps("ray").Get(w.t.Context(), "raytrain-train", metav1.GetOptions{})
	require.NoError(w.t, err)
	var record map[string]any
	require.NoError(w.t, json.Unmarshal([]byte(object.Data["record.json"]), &record))
	return record
}
