package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/status"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

const job = "gate-12345678-a2"

// cluster is two GPU nodes, a head and two workers, of which one is not ready.
type cluster struct {
	kube *fake.Clientset
	ray  *raytest.Server
}

func (c cluster) Kubernetes() kubernetes.Interface { return c.kube }

func (c cluster) Ray(context.Context, string, string) (*rayapi.Client, string, error) {
	noWait := func(context.Context, time.Duration) error { return nil }
	return rayapi.New(rayapi.Options{BaseURL: c.ray.URL(), Sleep: noWait}), "", nil
}

func newCluster(t *testing.T, record *attempt.Record) cluster {
	t.Helper()
	var objects []runtime.Object
	for _, name := range []string{"n1", "n2", "system"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if name != "system" {
			node.Status.Allocatable = corev1.ResourceList{
				"nvidia.com/gpu": quantity.MustParse("4"), "vpc.amazonaws.com/efa": quantity.MustParse("1"),
			}
		}
		objects = append(objects, node)
	}
	for i, name := range []string{"head", "w1", "w2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ray", Labels: map[string]string{
			"ray.io/cluster": "train", "ray.io/node-type": []string{"head", "worker", "worker"}[i],
		}}}
		pod.Status.Phase = corev1.PodRunning
		if name == "w2" {
			pod.Status.Phase = corev1.PodPending
		} else {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		objects = append(objects, pod)
	}
	c := cluster{kube: fake.NewClientset(objects...), ray: raytest.New()}
	t.Cleanup(c.ray.Close)
	if record != nil {
		require.NoError(t, attempt.NewStore(c.kube, "ray", "gate").Save(t.Context(), *record))
	}
	return c
}

// run leaves a running job and its evidence.
func (c cluster) run(t *testing.T, fabric synth.Fabric, started time.Time) {
	t.Helper()
	c.ray.Lock()
	defer c.ray.Unlock()
	c.ray.Jobs[job] = &rayapi.Job{SubmissionID: job, Status: rayapi.Running, StartTime: started.UnixMilli()}
	for i := range 2 {
		c.ray.Nodes = append(c.ray.Nodes, rayapi.Node{ID: fmt.Sprintf("node%d", i), State: rayapi.Alive})
	}
	logs, _ := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 4, Channels: 2, Fabric: fabric, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean, Pin: "Libfabric",
	}.Generate()
	for _, log := range logs {
		var rank int
		_, err := fmt.Sscanf(log.Name, "rank%d.", &rank)
		require.NoError(t, err)
		node := fmt.Sprintf("node%d", rank/4)
		manifest, err := json.Marshal(evidence.Manifest{
			Rank: rank, WorldSize: 8, Node: node, Nonce: "n", SubmissionID: job, NCCLFile: log.Name,
		})
		require.NoError(t, err)
		c.ray.AddFile(node, "raytrain/"+job+"/"+log.Name, log.Data)
		c.ray.AddFile(node, fmt.Sprintf("raytrain/%s/rank%d.json", job, rank), manifest)
	}
	c.ray.AddFile("node0", "raytrain/"+job+"/progress.json",
		[]byte(`{"step": 3, "steps": 20, "loss": 2.5, "stepsPerSecond": 0.5}`))
}

func running() attempt.Record {
	return attempt.Record{
		Instance: "i", Number: 2, Nonce: "n", ProofHash: "h", SubmissionID: job,
		WorldSize: 8, Nodes: 2, Provider: "efa",
	}
}

func judged(verdict report.Verdict, end rayapi.JobStatus) *attempt.Record {
	record := running()
	record.Settled, record.Verdict, record.JobStatus = true, verdict, end
	return &record
}

func target(stack *status.Stack) status.Target {
	return status.Target{Namespace: "ray", RayCluster: "train", Stack: stack}
}

func text(t *testing.T, s status.Status) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, s.Write(&b))
	return b.String()
}

func TestStatusOfARunningJob(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for fabric, verdict := range map[synth.Fabric]report.Verdict{synth.OnEFA: "efa", synth.PluginMissing: "not-efa"} {
		t.Run(string(fabric), func(t *testing.T) {
			t.Parallel()
			record := running()
			c := newCluster(t, &record)
			c.run(t, fabric, now.Add(-42*time.Second))
			price := 9.5
			s := status.Read(t.Context(), c, target(&status.Stack{HourlyUSD: &price, Since: now.Add(-2 * time.Hour)}), now)
			assert.Empty(t, s.Problems)
			assert.Equal(t, 4, s.ExitCode(), "an attempt that was not judged never passes")
			assert.Equal(t, "verdict: "+string(verdict)+` so far
job:     gate-12345678-a2, attempt 2, RUNNING, 42 s, step 3 of 20, loss 2.5000, 0.50 steps/s, 8 ranks in evidence
nodes:   2 of 2 GPU nodes ready, 8 GPUs, 2 EFA devices
pods:    2 of 3 ready: w2 Pending
cost:    $9.50 an hour, about $19.00 so far
`, text(t, s))
		})
	}
}

// TestExitCode passes only where record and stack agree on efa.
func TestExitCode(t *testing.T) {
	t.Parallel()
	green := &status.Stack{Verdict: report.EFA, SubmissionID: job}
	tests := []struct {
		name   string
		record *attempt.Record
		stack  *status.Stack
		want   int
	}{
		{"passed", judged(report.EFA, rayapi.Succeeded), green, 0},
		{"passed, without a stack", judged(report.EFA, rayapi.Succeeded), nil, 0},
		{"no attempt", nil, &status.Stack{Verdict: "none"}, 4},
		{"no attempt, but a stack that says so", nil, green, 4},
		{"not efa", judged(report.NotEFA, rayapi.Succeeded), nil, 2},
		{"mixed", judged(report.Mixed, rayapi.Stopped), nil, 3},
		{"on EFA, but it failed", judged(report.EFA, rayapi.Failed), nil, 4},
		{"a stack of another attempt", judged(report.EFA, rayapi.Succeeded), &status.Stack{Verdict: "efa", SubmissionID: "x"}, 4},
		{"a stack that was refused", judged(report.EFA, rayapi.Succeeded),
			&status.Stack{Verdict: "efa", SubmissionID: job, Refusal: &refusal.Refusal{}}, 4},
		{"not efa, and a stack that says efa", judged(report.NotEFA, rayapi.Succeeded), green, 2},
		{"stopped before it was judged", judged("", ""), green, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := status.Read(t.Context(), newCluster(t, test.record), target(test.stack), time.Now())
			assert.Equal(t, test.want, s.ExitCode())
			assert.Equal(t, test.want == 0, s.Passed)
		})
	}
}

func TestProblemsAreShown(t *testing.T) {
	t.Parallel()
	record := running()
	c := newCluster(t, &record)
	c.ray.Close()
	c.kube.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden for this user")
	})
	s := status.Read(t.Context(), c, target(nil), time.Now())
	assert.Len(t, s.Problems, 2)
	shown := text(t, s)
	assert.Contains(t, shown, "problem: listing nodes: forbidden for this user")
	assert.Contains(t, shown, "cost:    unknown")
	assert.Equal(t, 4, s.ExitCode())
}

func TestReadStack(t *testing.T) {
	t.Parallel()
	exported, err := os.ReadFile(filepath.Join("testdata", "stack.json"))
	require.NoError(t, err)
	found, err := status.ReadStack(exported)
	require.NoError(t, err)
	price := 9.55
	assert.Equal(t, status.Target{
		Kubeconfig: `{"kind":"Config"}`, Namespace: "ray", RayCluster: "train",
		Stack: &status.Stack{
			Verdict: report.NotEFA, SubmissionID: "gate-1-a1", HourlyUSD: &price,
			Since:   time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
			Refusal: &refusal.Refusal{Code: "plugin-not-found", Summary: "refused"},
		},
	}, found)

	// The first update has not come to the job yet.
	_, err = status.ReadStack([]byte(`{"deployment": {"resources": []}}`))
	require.ErrorIs(t, err, status.ErrNoRayCluster)
}
