// Package drill runs the built-in training, collected and judged as the gate does it, on one host
// without EFA: a Ray head and one Ray node for each rank.
package drill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/drill/localray"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

// Options configure a drill.
type Options struct {
	// Python is an interpreter with Ray and torch.
	Python string
	Device train.Device
	// GPUs is the number of GPUs of this host. Ranks share them when there are fewer GPUs than ranks.
	GPUs int
	// Ranks is the number of ranks, each on a Ray node of its own; 2 or more.
	Ranks int
	// Model, Steps and SequenceLength are those of the training.
	Model                 string
	Steps, SequenceLength int
	// Cases are the names of the cases to run; all when empty.
	Cases []string
	// Timeout is the time limit of one job.
	Timeout time.Duration
	// Dir is where the evidence of every run is kept.
	Dir string
	// Log shows one line of progress.
	Log func(line string)
}

// Outcome is what one case showed.
type Outcome struct {
	Case    string         `json:"case"`
	About   string         `json:"about"`
	Verdict report.Verdict `json:"verdict"`
	// Status is how the job ended.
	Status rayapi.JobStatus `json:"status"`
	// ExitCode is the driver's; null when the driver did not end by itself.
	ExitCode *int `json:"exitCode"`
	// Result is what rank 0 measured; null when training did not end well.
	Result *evidence.Result `json:"result"`
	// Finding is the first finding: the cause.
	Finding string `json:"finding"`
	// Expected reports whether verdict and status are those of the case.
	Expected bool `json:"expected"`
	// Error is why there is no verdict; empty when there is one.
	Error string `json:"error,omitempty"`
	// Report is the path of the report.
	Report string `json:"report,omitempty"`
}

// ErrOptions is wrapped by errors about options.
var ErrOptions = errors.New("invalid option of the drill")

// Run starts the cluster, runs the cases one after another and ends the cluster. A case that goes
// wrong has an error in its outcome; an error of Run means that no case could run.
func Run(ctx context.Context, options Options) (outcomes []Outcome, err error) {
	if options.Ranks < 2 {
		return nil, fmt.Errorf("%w: %d ranks; give 2 or more", ErrOptions, options.Ranks)
	}
	cases, err := choose(Cases(options.Device), options.Cases)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if err := options.config().Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	folder, err := os.MkdirTemp("/tmp", "rtd")
	if err != nil {
		return nil, fmt.Errorf("creating Ray's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	started, err := localray.Start(ctx, localray.Options{
		Python: options.Python, Nodes: options.Ranks, GPUs: options.GPUs, Log: options.Log,
	}, folder)
	defer started.Close() //nolint:staticcheck // never nil: what has started must end after an error too
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		options.Log("case " + c.Name + ": " + c.About)
		outcomes = append(outcomes, runCase(ctx, started.Ray, options, c, folder))
		if ctx.Err() != nil {
			return outcomes, ctx.Err()
		}
	}
	return outcomes, nil
}

func (o Options) config() train.Config {
	config := train.Defaults()
	config.Model, config.Steps, config.SequenceLength, config.Device = o.Model, o.Steps, o.SequenceLength, o.Device
	config.BatchSize = 1
	if o.Model == "tiny" {
		config.WrapMinParameters = 10_000 // units as in a large model
	}
	return config
}

// runCase runs one case.
func runCase(ctx context.Context, ray *rayapi.Client, options Options, c Case, folder string) Outcome {
	outcome := Outcome{Case: c.Name, About: c.About, Verdict: report.Inconclusive}
	config := options.config()
	if c.change != nil {
		c.change(&config)
	}
	config.StoragePath, config.RunName = filepath.Join(folder, "storage"), c.Name
	submitter := submit.Submitter{
		Ray: ray, EvidenceDir: options.Dir, Again: "raytrain drill", Log: func(string) {},
		Clock: evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep},
	}
	job := submit.Job{
		Name: "drill-" + c.Name, Training: &config,
		// All nodes are on this host, and by default NCCL and gloo avoid its loopback interface.
		Environment: map[string]string{"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"},
		Expected: submit.Expected{
			WorldSize: options.Ranks, Nodes: options.Ranks, Provider: "efa", Deadline: options.Timeout,
		},
	}
	maps.Copy(job.Environment, c.environment)
	if c.first != nil {
		before := job
		shorter := config
		c.first(&shorter)
		before.Training = &shorter
		ended, err := submitter.Run(ctx, before)
		if err == nil && ended.Job.Status != rayapi.Succeeded {
			err = fmt.Errorf("the run before it %s: %s", ended.Job.Status, ended.Job.Message)
		}
		if err != nil {
			outcome.Error = err.Error()
			return outcome
		}
	}
	ended, err := submitter.Run(ctx, job)
	if err != nil {
		outcome.Error = err.Error()
		return outcome
	}
	outcome.Status, outcome.ExitCode = ended.Job.Status, ended.Job.ExitCode
	outcome.Verdict, outcome.Report, outcome.Result = ended.Report.Verdict, ended.ReportPath, ended.Measured
	if len(ended.Report.Findings) > 0 {
		outcome.Finding = ended.Report.Findings[0].Code
	}
	outcome.Expected = outcome.Verdict == c.Verdict && outcome.Status == c.Status
	return outcome
}
