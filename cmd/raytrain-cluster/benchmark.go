package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/benchmark"
	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

const benchmarkHelp = `Measure a Ray cluster with the built-in training, on all its GPUs. Each run is judged as
by "raytrain submit"; an experiment is valid only if each run has the expected verdict.

  efa-vs-tcp  the same training over EFA and over TCP; the gate must refuse the TCP run
  scaling     the same training on one node and on all nodes
  allreduce   all_reduce by message size, against the line rate of a node
  recovery    a rank is killed in the middle of a run, which continues at a checkpoint

The report (html, markdown, json) is written below --evidence-dir, next to those of the
runs. Without GPUs or EFA every figure is marked as rehearsed.

Exit status:
  0  each run ended as expected
  1  usage error, or a run was not judged
  2  a run ended differently, so the experiment is not valid`

// benchmarkFlags are the flags of `raytrain benchmark`.
type benchmarkFlags struct {
	place       place
	options     benchmark.Options
	device      string
	strategy    string
	environment []string
	evidenceDir string
}

func newBenchmarkCommand() *cobra.Command {
	flags := benchmarkFlags{}
	flags.options.Training = train.Defaults()
	command := &cobra.Command{
		Use:   "benchmark [flags] EXPERIMENT",
		Short: "Measure what EFA is worth on a Ray cluster",
		Long:  benchmarkHelp,
		Example: `  raytrain benchmark efa-vs-tcp --kubeconfig kubeconfig --raycluster train --namespace ray
  raytrain benchmark allreduce --address http://127.0.0.1:8265 --line-rate-gbps 40`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: experimentNames(),
		RunE:      flags.run,
	}
	set, training := command.Flags(), &flags.options.Training
	flags.place.register(set)
	set.StringVar(&training.Model, "model", "Qwen/Qwen2.5-1.5B", "model of the training: "+strings.Join(train.Models(), ", "))
	set.IntVar(&training.Steps, "steps", 50, "optimizer steps of a run")
	set.IntVar(&training.BatchSize, "batch-size", 1, "sequences in one step of one rank")
	set.IntVar(&training.SequenceLength, "sequence-length", 1024, "tokens of one sequence")
	set.StringVar(&flags.strategy, "strategy", string(train.FSDP2), "fsdp2, fsdp1 or ddp")
	set.StringVar(&flags.device, "device", string(train.CUDA), "cuda, or cpu for a rehearsal")
	set.StringVar(&training.StoragePath, "storage-path", "",
		"where checkpoints go: a folder that all nodes share, or a URI; recovery needs it")
	set.StringArrayVar(&flags.environment, "env", nil, "set a variable in all processes: NAME=VALUE; no secrets")
	set.Float64Var(&flags.options.LineRateGbps, "line-rate-gbps", 0,
		"line rate of a node's network, such as 40 for g6.12xlarge; 0 when unknown")
	set.IntVar(&flags.options.LargestMebibytes, "largest-mib", 256, "largest message of allreduce, in MiB")
	set.DurationVar(&flags.options.Deadline, "deadline", time.Hour, "time limit of one run")
	set.StringVar(&flags.evidenceDir, "evidence-dir", "evidence", "folder for reports and logs")
	return command
}

func experimentNames() []string {
	var names []string
	for _, e := range benchmark.Experiments() {
		names = append(names, e.Name)
	}
	return names
}

func (f *benchmarkFlags) run(command *cobra.Command, args []string) error {
	experiment, err := f.check(args[0])
	if err != nil {
		return err
	}
	submitter, err := f.prepare(command)
	if err != nil {
		return err
	}
	outcome, err := experiment.Do(command.Context(), submitter, f.options)
	if err != nil {
		return err
	}
	folder, err := outcome.Write(f.evidenceDir)
	if err == nil {
		err = outcome.Markdown(command.OutOrStdout())
	}
	if err != nil {
		return err
	}
	submitter.Log("report: " + folder)
	if !outcome.Valid {
		return &exit.Error{Code: 2} //nolint:mnd // see the help
	}
	return nil
}

// check returns the experiment, or an error that names every invalid flag.
func (f *benchmarkFlags) check(name string) (benchmark.Experiment, error) {
	f.options.Training.Device, f.options.Training.Strategy = train.Device(f.device), train.Strategy(f.strategy)
	if f.options.Training.Model == "tiny" {
		f.options.Training.WrapMinParameters = tinyWrap
	}
	problems := append(f.place.problems(), f.options.Training.Validate())
	i := slices.Index(experimentNames(), name)
	if i < 0 {
		problems = append(problems, fmt.Errorf("experiment %q: must be one of %s", name, strings.Join(experimentNames(), "|")))
	}
	if name == "recovery" && f.options.Training.StoragePath == "" {
		problems = append(problems, errors.New(
			"flag --storage-path: recovery needs it: a folder that all nodes share, or a URI such as s3://bucket/runs"))
	}
	if f.options.LargestMebibytes < 1 {
		problems = append(problems, fmt.Errorf("flag --largest-mib %d: must be 1 or more", f.options.LargestMebibytes))
	}
	if f.options.LineRateGbps < 0 {
		problems = append(problems, fmt.Errorf("flag --line-rate-gbps %g: must be 0 or more", f.options.LineRateGbps))
	}
	environment, err := variables(f.environment)
	f.options.Environment = environment
	if err := errors.Join(append(problems, err)...); err != nil {
		return benchmark.Experiment{}, err
	}
	return benchmark.Experiments()[i], nil
}

// tinyWrap makes FSDP units of a tiny model as many as in a large one.
const tinyWrap = 10_000

// prepare connects to the cluster and reads its shape.
func (f *benchmarkFlags) prepare(command *cobra.Command) (submit.Submitter, error) {
	submitter, err := f.place.submitter(command.Context())
	if err != nil {
		return submitter, err
	}
	submitter.EvidenceDir, submitter.Again = f.evidenceDir, "raytrain benchmark "+f.place.String()
	submitter.Clock = evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep}
	submitter.Log = newProgress(command.ErrOrStderr(), time.Now)
	f.options.Nodes, f.options.GPUsPerNode, err = shape(command.Context(), submitter.Ray)
	return submitter, err
}

func shape(ctx context.Context, ray *rayapi.Client) (count, gpusPerNode int, err error) {
	nodes, err := ray.Nodes(ctx)
	if err != nil {
		return 0, 0, err
	}
	return benchmark.Shape(nodes)
}
