package benchmark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

func pointer[T any](value T) *T { return &value }

func node(gpus float64, state rayapi.NodeState) rayapi.Node {
	return rayapi.Node{State: state, Resources: map[string]float64{"GPU": gpus}}
}

func TestShape(t *testing.T) {
	t.Parallel()
	head := rayapi.Node{State: rayapi.Alive}
	tests := []struct {
		name        string
		nodes       []rayapi.Node
		count, gpus int
		says        string
	}{
		{"two nodes", []rayapi.Node{head, node(4, rayapi.Alive), node(4, rayapi.Alive), node(8, "DEAD")}, 2, 4, ""},
		{"one node", []rayapi.Node{head, node(4, rayapi.Alive)}, 0, 0, "it has 1 nodes with GPUs, required: 2 or more; next: ray status"},
		{"unequal", []rayapi.Node{node(4, rayapi.Alive), node(8, rayapi.Alive)}, 0, 0, "its nodes have [4 8] GPUs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			count, gpus, err := Shape(test.nodes)
			assert.Equal(t, []int{test.count, test.gpus}, []int{count, gpus})
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrShape)
			assert.ErrorContains(t, err, test.says)
		})
	}
}

// judged is what each run of an experiment on 2 x 4 GPUs measured.
func judged() map[string][]evidence.Result {
	return map[string][]evidence.Result{
		"efa-vs-tcp": {{StepsPerSecond: pointer(0.5173)}, {StepsPerSecond: pointer(0.2513)}},
		"scaling":    {{TokensPerSecond: pointer(1000.0)}, {TokensPerSecond: pointer(1800.0)}},
		"allreduce": {{AllReduce: []evidence.Bandwidth{
			{Bytes: 1 << 20, BusBytesPerSecond: 4e9}, {Bytes: 1 << 22, BusBytesPerSecond: 3e9},
		}}},
		"recovery": {{
			Steps: 50, StepsPerSecond: pointer(0.5), SecondsToRecover: pointer(30.0), LostSteps: 1, ResumedAtStep: 24,
			Goodput: pointer(0.75),
		}},
	}
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	options := Options{Nodes: 2, GPUsPerNode: 4, LineRateGbps: 40, Training: train.Config{Steps: 50, Device: train.CUDA}}
	sentences := map[string][2]string{ // with and without results
		"efa-vs-tcp": {
			"EFA is 2.058 times as fast as TCP, and the gate refuses the TCP run.",
			"EFA is unknown times as fast as TCP, and the gate refuses the TCP run.",
		},
		"scaling": {
			"2 nodes reach 90 % of 2 times the throughput of one node.",
			"2 nodes reach unknown % of 2 times the throughput of one node.",
		},
		"allreduce": {
			"all_reduce reaches 4 GB/s, 80 % of the line rate of a node.",
			"all_reduce reaches unknown GB/s, unknown % of the line rate of a node.",
		},
		"recovery": {
			"After a rank was killed, the run continued 30 s later at step 24 and lost 1 steps.",
			"After a rank was killed, the run continued unknown s later at step 0 and lost 0 steps.",
		},
	}
	for _, experiment := range Experiments() {
		t.Run(experiment.Name, func(t *testing.T) {
			t.Parallel()
			for i, known := range []bool{true, false} {
				var runs []Run
				for j, arm := range experiment.arms(options) {
					run := Run{Arm: arm.name, Nodes: arm.nodes}
					if known {
						run.Result = &judged()[experiment.Name][j]
					}
					runs = append(runs, run)
				}
				found := experiment.conclude(options, runs)
				assert.Equal(t, sentences[experiment.Name][i], found.sentence)
				assert.Equal(t, known, len(found.chart.Points) > 0)
				assert.NotEmpty(t, found.figures)
			}
		})
	}
}

// The negative control: a TCP run that passes would make the experiment invalid.
func TestArmsExpectTheRefusal(t *testing.T) {
	t.Parallel()
	options := Options{
		Nodes: 2, GPUsPerNode: 4, Environment: map[string]string{"NCCL_NET": "Libfabric", "A": "1"},
		Training: train.Config{Steps: 50}, LargestMebibytes: 64,
	}
	var arms []arm
	for _, experiment := range Experiments() {
		arms = append(arms, experiment.arms(options)...)
	}
	for _, a := range arms {
		job := a.job("x", options)
		onTCP := job.Environment["NCCL_NET"] == "Socket"
		assert.Equal(t, onTCP, a.want == report.NotEFA, a.name)
		assert.Equal(t, a.nodes == 1, a.want == report.Inconclusive, a.name)
		assert.Equal(t, "1", job.Environment["A"])
		assert.Equal(t, a.nodes*4, job.WorldSize)
	}
	assert.Equal(t, "Libfabric", options.Environment["NCCL_NET"], "unchanged")
	assert.Equal(t, 50, options.Training.Steps, "unchanged")
}

func outcome(valid bool) Outcome {
	o := Outcome{Experiment: "efa-vs-tcp", About: "about", Valid: true, Made: time.Unix(0, 0)}
	results := judged()["efa-vs-tcp"]
	for i, a := range Experiments()[0].arms(Options{Nodes: 2}) {
		verdict := a.want
		if !valid {
			verdict = report.EFA
		}
		o.add(a, Options{GPUsPerNode: 4}, submit.Result{
			Report: report.Report{Verdict: verdict, Rehearsed: true}, Job: rayapi.Job{Status: rayapi.Succeeded},
			Measured: &results[i], ReportPath: "evidence/<" + a.name + ">/report.txt",
		})
	}
	return o
}

func TestARunWithAnotherVerdictIsNotValid(t *testing.T) {
	t.Parallel()
	assert.True(t, outcome(true).Valid)
	bad := outcome(false)
	assert.False(t, bad.Valid)
	assert.True(t, bad.Runs[0].Expected)
	assert.False(t, bad.Runs[1].Expected, "TCP must be refused")
	assert.True(t, bad.Rehearsed, "a run says so")
}

func TestReports(t *testing.T) {
	t.Parallel()
	o := outcome(true)
	found := Experiments()[0].conclude(Options{}, o.Runs)
	o.Sentence, o.Figures, o.Chart = found.sentence, found.figures, found.chart
	o.label()
	folder, err := o.Write(t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, "benchmark-efa-vs-tcp-19700101T000000Z", filepath.Base(folder))
	for name, has := range map[string][]string{
		"report.md": {
			"REHEARSED", "Rehearsed: EFA is 2.058", "| speed of EFA as a multiple of TCP | 2.058 rehearsed |",
			"steps/s, rehearsed", "| TCP | 2 | 8 | not-efa | not-efa | SUCCEEDED | 0.2513 |", "EFA ████",
		},
		"report.html": {
			"REHEARSED", "<svg", "<title>Rehearsed: Benchmark", "<b>2.058 rehearsed</b>", "&lt;TCP&gt;", "tokens/s, rehearsed",
		},
		"report.json": {`"rehearsed": true`, `"unit": "steps/s, rehearsed"`, `"stepsPerSecond": 0.2513`},
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		for _, want := range has {
			assert.Contains(t, string(text), want, name)
		}
		assert.NotContains(t, string(text), "<script", name)
		// A figure without the word could be quoted as one of real hardware.
		assert.NotContains(t, strings.ReplaceAll(string(text), "steps/s, rehearsed", ""), "steps/s", name)
		if name == "report.json" {
			assert.True(t, json.Valid(text))
		}
	}
}
