package submit_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

// The programs know nothing of this project. Without GPUs no process can use NCCL, so the second one
// writes what NCCL would, to the file that NCCL would write to.
const (
	tasks = `
import ray
ray.init()
print("sum", sum(ray.get([ray.remote(lambda: 1).remote() for _ in range(2)])))
`
	ranks = `
import os, pathlib, socket, sys, time
import ray
ray.init()

@ray.remote(num_cpus=0)
class Rank:
    def run(self, text):
        file = os.environ["NCCL_DEBUG_FILE"].replace("%h", socket.gethostname()).replace("%p", str(os.getpid()))
        pathlib.Path(file).write_bytes(text)
        return os.environ["NCCL_DEBUG"], os.environ.get("NCCL_DEBUG_SUBSYS")

texts = [path.read_bytes() for path in sorted(pathlib.Path(".").glob("*.nccl"))]
actors = [Rank.remote() for _ in texts]
print(ray.get([actor.run.remote(text) for actor, text in zip(actors, texts)]))
if "END" in os.environ:
    sys.exit(int(os.environ["END"]))
`
	noRay = "print('hello')\n"
)

// ncclFiles are the logs of two ranks on two hosts.
func ncclFiles(t *testing.T, fabric synth.Fabric) map[string][]byte {
	t.Helper()
	run := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 1, Channels: 2, Fabric: fabric, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean,
	}
	files, _ := run.Generate()
	require.Len(t, files, 2)
	return map[string][]byte{"0.nccl": files[0].Data, "1.nccl": files[1].Data}
}

func TestSubmitOnAPlainRayCluster(t *testing.T) {
	t.Parallel()
	c := startRay(t)
	// The group ends before the head does.
	t.Run("scripts", func(t *testing.T) {
		tests := []struct {
			name      string
			program   string
			fabric    synth.Fabric
			end       string
			worldSize int
			status    rayapi.JobStatus
			verdict   report.Verdict
			passed    bool
			// code is that of the first finding that is an error; empty for none.
			code string
			// output is in the job's output.
			output string
		}{
			{"on EFA", ranks, synth.OnEFA, "0", 2, rayapi.Succeeded, report.EFA, true, "", "[('INFO', None), ('INFO', None)]"},
			{"on EFA, with too few ranks", ranks, synth.OnEFA, "0", 4, rayapi.Succeeded, report.Inconclusive, false, "world-size-mismatch", ""},
			{"on EFA, then fails", ranks, synth.OnEFA, "7", 0, rayapi.Failed, report.EFA, false, "", ""},
			{"on TCP", ranks, synth.SocketForced, "0", 2, rayapi.Succeeded, report.NotEFA, false, "other-network", ""},
			{"no NCCL", tasks, "", "0", 0, rayapi.Succeeded, report.Inconclusive, false, "nccl-unused", "sum 2"},
			{"no Ray", noRay, "", "0", 0, rayapi.Succeeded, report.Inconclusive, false, "no-ray-workers", "hello"},
			{"fails at once", "raise SystemExit(3)", "", "0", 0, rayapi.Failed, report.Inconclusive, false, "job-failed-early", ""},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				var files map[string][]byte
				if test.program == ranks {
					files = ncclFiles(t, test.fabric)
				}
				job := c.job(t, test.program, files)
				job.WorldSize = test.worldSize
				job.Environment = map[string]string{"END": test.end}
				got, err := c.submitter(t).Run(t.Context(), job)
				require.NoError(t, err)
				log, err := os.ReadFile(filepath.Join(filepath.Dir(got.ReportPath), "driver.log"))
				require.NoError(t, err)
				assert.Equal(t, test.status, got.Job.Status, string(log))
				assert.Equal(t, test.verdict, got.Report.Verdict, "%+v\n%s", got.Report.Findings, log)
				assert.Equal(t, test.passed, got.Passed())
				assert.Equal(t, test.code, firstError(got.Report))
				assert.Contains(t, string(log), test.output)
				assert.FileExists(t, got.ReportPath)
			})
		}
		t.Run("stopped as soon as it is on TCP", func(t *testing.T) {
			t.Parallel()
			job := c.job(t, ranks+"time.sleep(100000)\n", ncclFiles(t, synth.SocketForced))
			submitter := c.submitter(t)
			submitter.FailFast = true
			got, err := submitter.Run(t.Context(), job)
			require.NoError(t, err)
			assert.Equal(t, rayapi.Stopped, got.Job.Status)
			assert.Equal(t, report.NotEFA, got.Report.Verdict)
			assert.Equal(t, "stopped-early", firstError(got.Report))
		})
		t.Run("hangs until its deadline", func(t *testing.T) {
			t.Parallel()
			job := c.job(t, "import time\ntime.sleep(100000)\n", nil)
			job.Deadline = time.Second
			got, err := c.submitter(t).Run(t.Context(), job)
			require.NoError(t, err)
			assert.Equal(t, rayapi.Stopped, got.Job.Status)
			assert.Equal(t, report.Inconclusive, got.Report.Verdict)
			assert.Equal(t, "deadline-passed", firstError(got.Report))
		})
		t.Run("interrupted", func(t *testing.T) { t.Parallel(); c.interrupted(t, false) })
		t.Run("interrupted and left", func(t *testing.T) { t.Parallel(); c.interrupted(t, true) })
	})
	t.Run("examples", c.examples)
}

// interrupted ends a submission while its job runs.
func (c *cluster) interrupted(t *testing.T, leave bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	submitter := c.submitter(t)
	submitter.Leave = leave
	id := ""
	submitter.Log = func(line string) {
		t.Log(line)
		if submitted, ok := strings.CutPrefix(line, "submitted job "); ok {
			id = submitted
		}
		if strings.Contains(line, string(rayapi.Running)) {
			cancel()
		}
	}
	_, err := submitter.Run(ctx, c.job(t, "import time\ntime.sleep(10)\n", nil))
	require.ErrorIs(t, err, submit.ErrNotJudged)
	require.NotEmpty(t, id)
	require.ErrorContains(t, err, id)
	found, jobErr := c.ray.Job(t.Context(), id)
	require.NoError(t, jobErr)
	if !leave {
		assert.Equal(t, rayapi.Stopped, found.Status)
		return
	}
	assert.ErrorContains(t, err, "--attach "+id)
	got, err := c.submitter(t).Attach(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, rayapi.Succeeded, got.Job.Status)
	assert.Equal(t, report.Inconclusive, got.Report.Verdict)
}

func firstError(r report.Report) string {
	for _, finding := range r.Findings {
		if finding.Severity == report.Error {
			return finding.Code
		}
	}
	return ""
}
