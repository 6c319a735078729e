// Package drill runs the built-in training, collected and judged as the gate does it, on one host
// without EFA: a Ray head and one Ray node for each rank.
package drill

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
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
	started, err := startCluster(ctx, options, folder)
	defer started.close()
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		options.Log("case " + c.Name + ": " + c.About)
		outcomes = append(outcomes, runCase(ctx, started, options, c, folder))
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
func runCase(ctx context.Context, on *cluster, options Options, c Case, folder string) Outcome {
	outcome := Outcome{Case: c.Name, About: c.About, Verdict: report.Inconclusive}
	fail := func(err error) Outcome {
		outcome.Error = err.Error()
		return outcome
	}
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return fail(err)
	}
	config := options.config()
	if c.change != nil {
		c.change(&config)
	}
	config.StoragePath = filepath.Join(folder, "storage")
	config.RunName = "drill-" + c.Name + "-" + hex.EncodeToString(nonce[:4])
	job := job{on: on, options: options, environment: c.environment, nonce: hex.EncodeToString(nonce)}
	if c.first != nil {
		before := config
		c.first(&before)
		ended, err := job.run(ctx, config.RunName+"-a1", before, nil)
		if err == nil && ended.Job.Status != rayapi.Succeeded {
			err = fmt.Errorf("the run before it %s: %s", ended.Job.Status, ended.Job.Message)
		}
		if err != nil {
			return fail(err)
		}
	}
	var disturb func(ctx context.Context) error
	id := config.RunName + "-a2"
	if c.killRank {
		disturb = func(ctx context.Context) error { return on.killRank(ctx, id, config) }
	}
	ended, err := job.run(ctx, id, config, disturb)
	if err != nil {
		return fail(err)
	}
	outcome.Status, outcome.ExitCode = ended.Job.Status, ended.Job.ExitCode
	judged, path, err := job.judge(ctx, id, ended)
	if err != nil {
		return fail(err)
	}
	outcome.Verdict, outcome.Report = judged.Report.Verdict, path
	if len(judged.Report.Findings) > 0 {
		outcome.Finding = judged.Report.Findings[0].Code
	}
	outcome.Result = judged.Result
	outcome.Expected = outcome.Verdict == c.Verdict && outcome.Status == c.Status
	return outcome
}

// job submits, collects and judges the runs of one case.
type job struct {
	on          *cluster
	options     Options
	environment map[string]string
	nonce       string
	collector   *evidence.Collector
}

// run runs one submission to its end. disturb runs meanwhile; nil for nothing.
func (j *job) run(
	ctx context.Context, id string, config train.Config, disturb func(context.Context) error,
) (follow.Outcome, error) {
	environment, err := train.Run{
		Config: config, SubmissionID: id, Nonce: j.nonce, Attempt: 1, WorldSize: j.options.Ranks,
		Nodes: j.options.Ranks, GPUsPerNode: 1, DeadlineSeconds: int(2 * j.options.Timeout / time.Second),
	}.Environment()
	if err != nil {
		return follow.Outcome{}, err
	}
	environment["NCCL_DEBUG"] = "INFO"
	// All nodes are on this host, and by default NCCL and gloo avoid its loopback interface.
	environment["NCCL_SOCKET_IFNAME"], environment["GLOO_SOCKET_IFNAME"] = "lo", "lo"
	maps.Copy(environment, j.environment)
	code, err := train.Zip()
	if err != nil {
		return follow.Outcome{}, err
	}
	uri, err := j.on.ray.EnsurePackage(ctx, code)
	if err != nil {
		return follow.Outcome{}, err
	}
	version, err := j.on.ray.Version(ctx)
	if err != nil {
		return follow.Outcome{}, err
	}
	_, err = j.on.ray.Submit(ctx, rayapi.Submission{
		ID: id, Entrypoint: train.Entrypoint,
		RuntimeEnv: rayapi.RuntimeEnv{WorkingDir: uri, EnvVars: environment},
	})
	if err != nil {
		return follow.Outcome{}, err
	}
	disturbed := make(chan error, 1)
	inner, cancel := context.WithCancel(ctx)
	go func() {
		if disturb == nil {
			disturbed <- nil
			return
		}
		disturbed <- disturb(inner)
	}()
	j.collector = evidence.NewCollector(j.on.ray, evidence.Copies{SubmissionID: id, Dir: j.options.Dir})
	ended, err := follow.Job{
		Ray: j.on.ray, ID: id, Session: version.SessionName, Deadline: j.options.Timeout,
		Clock: evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep}, Log: func(string) {},
	}.Wait(ctx, j.collector)
	cancel()
	if err = errors.Join(err, <-disturbed); err != nil {
		return ended, errors.Join(err, j.collector.Close())
	}
	return ended, nil
}

// judge collects, judges and archives what the last run left, as the gate does.
func (j *job) judge(
	ctx context.Context, id string, ended follow.Outcome,
) (_ evidence.Judgement, _ string, err error) {
	defer func() { err = errors.Join(err, j.collector.Close()) }()
	gaps := j.collector.Finish(ctx, evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep})
	files := j.collector.Files()
	judged, err := evidence.Judge(ctx, evidence.Run{
		Expected: evidence.Expected{
			SubmissionID: id, Nonce: j.nonce, WorldSize: j.options.Ranks, Nodes: j.options.Ranks,
		},
		Provider: "efa", Status: ended.Job.Status, Again: "raytrain drill", Files: files, Gaps: gaps,
	})
	if err != nil {
		return judged, "", err
	}
	driverLog, err := j.collector.DriverLog(ctx, ended.Job)
	if err != nil {
		driverLog = nil // for people; it is no evidence
	}
	path, err := evidence.Archive(j.options.Dir, evidence.Bundle{
		SubmissionID: id, Attempt: 1, Nonce: j.nonce, Job: ended.Job, Result: judged.Result,
		Manifests: judged.Manifests,
	}, judged.Report, files, driverLog)
	return judged, path, err
}
