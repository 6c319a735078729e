package benchmark_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/benchmark"
	"github.com/ray-train-efa/ray-train-efa/drill/localray"
	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

// machines makes each Ray node a machine of its own, with its own name and address, and loads the
// stand-in for NCCL.
const machines = `
import os, socket
host = os.environ.get("NCCL_HOSTID")
if host:
    resolve = socket.gethostbyname
    socket.gethostname = lambda: host
    socket.gethostbyname = lambda name: "10.0.%s.1" % host[-1] if name == host else resolve(name)
from nccl_stand_in import hook
hook.install()
`

// rehearsed returns the environment of a rehearsed image on machines with EFA.
func rehearsed(t *testing.T, root string) []string {
	t.Helper()
	folder := t.TempDir()
	for path, text := range map[string]string{
		"sitecustomize.py":            machines,
		"root/dev/infiniband/uverbs0": "",
		"root/run/raytrain-rehearsal/node-facts.json": `{
			"node": "n", "zone": "z", "subnetId": "s", "efaInterfaces": 1, "deviceBroken": false,
			"securityGroups": [{"id": "g", "selfIngress": true, "selfEgress": true}]}`,
	} {
		path = filepath.Join(folder, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return []string{
		"PYTHONPATH=" + folder + ":" + filepath.Join(root, "rehearsal", "internal", "standin", "python"),
		"RAYTRAIN_REHEARSAL_ROOT=" + filepath.Join(folder, "root"), "RAYTRAIN_REHEARSAL_PLUGIN=1",
	}
}

var all = flag.Bool("benchmark.all", false, "run every experiment on a Ray cluster") //nolint:gochecknoglobals // a flag

// TestExperiments runs every experiment on a real Ray cluster with gloo. The stand-in for NCCL decides
// from the environment of each run, as NCCL does, so a TCP run is refused for the same reason.
func TestExperiments(t *testing.T) {
	if !*all {
		t.Skip("make drill runs it: six jobs on a Ray cluster")
	}
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	tools, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	folder, err := os.MkdirTemp("/tmp", "rtb") //nolint:usetesting // Ray's sockets need a short path
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	cluster, err := localray.Start(t.Context(), localray.Options{
		Python: filepath.Join(tools.RayVenv, "bin", "python"), Nodes: 2, Environment: rehearsed(t, root),
		Log: func(line string) { t.Log(line) },
	}, folder)
	t.Cleanup(cluster.Close)
	require.NoError(t, err)
	nodes, err := cluster.Ray.Nodes(t.Context())
	require.NoError(t, err)

	options := benchmark.Options{
		Training: train.Defaults(), Environment: map[string]string{"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"},
		LineRateGbps: 40, LargestMebibytes: 1, Deadline: 10 * time.Minute,
	}
	options.Nodes, options.GPUsPerNode, err = benchmark.Shape(nodes)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, []int{options.Nodes, options.GPUsPerNode})
	options.Training.Model, options.Training.Steps, options.Training.BatchSize = "tiny", 8, 1
	options.Training.SequenceLength, options.Training.WrapMinParameters = 32, 10_000
	options.Training.Device, options.Training.StoragePath = train.CPU, filepath.Join(folder, "storage")

	want := map[string][]report.Verdict{
		"efa-vs-tcp": {report.EFA, report.NotEFA}, "scaling": {report.Inconclusive, report.EFA},
		"allreduce": {report.EFA}, "recovery": {report.EFA},
	}
	for _, experiment := range benchmark.Experiments() {
		t.Run(experiment.Name, func(t *testing.T) {
			outcome, err := experiment.Do(t.Context(), submit.Submitter{
				Ray: cluster.Ray, EvidenceDir: t.TempDir(), Again: "raytrain benchmark",
				Clock: evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep}, Log: func(line string) { t.Log(line) },
			}, options)
			require.NoError(t, err)
			var verdicts []report.Verdict
			for _, run := range outcome.Runs {
				verdicts = append(verdicts, run.Verdict)
				assert.Equal(t, rayapi.Succeeded, run.Status, "%+v", run)
				require.NotNil(t, run.Result)
				assert.FileExists(t, run.Report)
			}
			assert.Equal(t, want[experiment.Name], verdicts, "%+v", outcome.Runs)
			assert.True(t, outcome.Valid, outcome.Sentence)
			assert.True(t, outcome.Rehearsed)
			assert.NotEmpty(t, outcome.Chart.Points)
			for _, figure := range outcome.Figures {
				require.NotNil(t, figure.Value, figure.Name)
				assert.Contains(t, figure.Unit, "rehearsed")
			}
			if experiment.Name == "recovery" {
				assert.Equal(t, 4, outcome.Runs[0].Result.ResumedAtStep)
			}
		})
	}
}
