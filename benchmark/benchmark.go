// Package benchmark measures a Ray cluster with experiments: runs of the built-in training that differ
// in one thing. Each run is judged, and an experiment is valid only if each verdict is the expected
// one.
package benchmark

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

// Options configure an experiment.
type Options struct {
	// Nodes is the number of nodes with GPUs, and GPUsPerNode how many each has (Shape).
	Nodes, GPUsPerNode int
	// Training is what every run computes, unless the experiment changes it.
	Training train.Config
	// Environment is that of every run. Ray shows it.
	Environment map[string]string
	// LineRateGbps is the line rate of a node's network in Gbit/s; 0 when unknown.
	LineRateGbps float64
	// LargestMebibytes is the largest message of the experiment allreduce.
	LargestMebibytes int
	// Deadline is the time limit of one run.
	Deadline time.Duration
}

// Outcome is what an experiment showed.
type Outcome struct {
	Experiment string `json:"experiment"`
	About      string `json:"about"`
	// Sentence is the answer.
	Sentence string `json:"sentence"`
	// Valid reports whether each run ended as expected.
	Valid bool `json:"valid"`
	// Rehearsed reports that no GPU or no EFA was used: then no figure says anything about them.
	Rehearsed bool        `json:"rehearsed"`
	Figures   []Figure    `json:"figures"`
	Chart     chart.Chart `json:"chart"`
	Runs      []Run       `json:"runs"`
	Made      time.Time   `json:"made"`
}

// Figure is one number of the answer; null when it is unknown.
type Figure struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
}

// Run is one judged run.
type Run struct {
	Arm   string `json:"arm"`
	Nodes int    `json:"nodes"`
	Ranks int    `json:"ranks"`
	// Want is the verdict that the run must have.
	Want    report.Verdict   `json:"want"`
	Verdict report.Verdict   `json:"verdict"`
	Status  rayapi.JobStatus `json:"status"`
	// Expected reports whether the job succeeded with the verdict Want.
	Expected bool `json:"expected"`
	// Finding is the first finding.
	Finding string `json:"finding"`
	// Result is what rank 0 measured; null when the training did not end well.
	Result *evidence.Result `json:"result"`
	// Report is the path of the run's report.
	Report string `json:"report"`
}

// measured returns the result, or one without values.
func (r Run) measured() evidence.Result {
	if r.Result == nil {
		return evidence.Result{}
	}
	return *r.Result
}

// ErrShape is wrapped by the errors of Shape.
var ErrShape = errors.New("the cluster does not suit an experiment")

// Shape returns the number of nodes with GPUs, and of GPUs of each. They must be equal, and two nodes
// or more.
func Shape(nodes []rayapi.Node) (count, gpusPerNode int, err error) {
	var gpus []int
	for _, node := range nodes {
		if n := int(node.Resources["GPU"]); node.State == rayapi.Alive && n > 0 {
			gpus = append(gpus, n)
		}
	}
	for _, n := range gpus {
		if n != gpus[0] {
			return 0, 0, fmt.Errorf("%w: its nodes have %d GPUs; give all nodes the same number", ErrShape, gpus)
		}
	}
	if len(gpus) < 2 {
		return 0, 0, fmt.Errorf("%w: it has %d nodes with GPUs, required: 2 or more; next: ray status", ErrShape, len(gpus))
	}
	return len(gpus), gpus[0], nil
}

// Do runs the experiment. An error means that a run was not judged; the outcome has those before it.
func (e Experiment) Do(ctx context.Context, submitter submit.Submitter, options Options) (Outcome, error) {
	outcome := Outcome{
		Experiment: e.Name, About: e.About, Valid: true, Made: submitter.Clock.Now(),
		Rehearsed: options.Training.Device == train.CPU,
	}
	for _, a := range e.arms(options) {
		submitter.Log("run " + a.name)
		result, err := submitter.Run(ctx, a.job(e.Name, options))
		if err != nil {
			return outcome, fmt.Errorf("run %q of %s: %w", a.name, e.Name, err)
		}
		outcome.add(a, options, result)
	}
	found := e.conclude(options, outcome.Runs)
	outcome.Sentence, outcome.Figures, outcome.Chart = found.sentence, found.figures, found.chart
	for _, run := range outcome.Runs {
		if !run.Expected {
			outcome.Sentence = fmt.Sprintf("The experiment is not valid: run %q is %s and its job %s; "+
				"expected: %s and %s. Read its report.", run.Arm, run.Verdict, run.Status, run.Want, rayapi.Succeeded)
		}
	}
	if outcome.Rehearsed {
		outcome.label()
	}
	return outcome, nil
}

// add adds a judged run.
func (o *Outcome) add(a arm, options Options, result submit.Result) {
	run := Run{
		Arm: a.name, Nodes: a.nodes, Ranks: a.nodes * options.GPUsPerNode, Want: a.want,
		Verdict: result.Report.Verdict, Status: result.Job.Status, Result: result.Measured, Report: result.ReportPath,
	}
	run.Expected = run.Verdict == run.Want && run.Status == rayapi.Succeeded
	if len(result.Report.Findings) > 0 {
		run.Finding = result.Report.Findings[0].Code
	}
	o.Runs = append(o.Runs, run)
	o.Valid = o.Valid && run.Expected
	o.Rehearsed = o.Rehearsed || result.Report.Rehearsed
}

// rehearsed marks every figure that says nothing about GPUs or EFA.
const rehearsed = "rehearsed"

// label marks each figure as rehearsed, so that none can be quoted without the word.
func (o *Outcome) label() {
	o.Sentence = "Rehearsed: " + o.Sentence
	for i := range o.Figures {
		o.Figures[i].Unit = labeled(o.Figures[i].Unit)
	}
	o.Chart.Unit = labeled(o.Chart.Unit)
}

func labeled(unit string) string {
	if unit == "" {
		return rehearsed
	}
	return unit + ", " + rehearsed
}

// job returns the job of an arm.
func (a arm) job(experiment string, options Options) submit.Job {
	config := options.Training
	if a.change != nil {
		a.change(&config)
	}
	environment := maps.Clone(options.Environment)
	if environment == nil {
		environment = map[string]string{}
	}
	maps.Copy(environment, a.network)
	return submit.Job{
		Name: "benchmark-" + experiment, Training: &config, Environment: environment,
		Expected: submit.Expected{
			WorldSize: a.nodes * options.GPUsPerNode, Nodes: a.nodes, Provider: "efa", Deadline: options.Deadline,
		},
	}
}
