package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/jobs/script"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

const submitHelp = `Run a script as a job on a Ray cluster, as "ray job submit" does, and report whether the
traffic of every rank between nodes used EFA. The script needs no change. Its ranks must
be Ray workers: Ray Train, actors or tasks.

The job's output is shown on standard error, the report on standard output.
The command copies NCCL's output of every process through Ray's log API. The report, the
job's output and the logs are kept below --evidence-dir.

COMMAND is run by a shell on the Ray head, in a copy of --working-dir. One COMMAND with
spaces is a command line; several words are quoted.

A cluster with token authentication needs the token in RAY_AUTH_TOKEN or --token-file.
With --kubeconfig the token is read from the Secret of the RayCluster.

Ctrl-C stops the job. With --on-interrupt leave it continues, and --attach waits for it.

Exit status:
  0  efa           the job succeeded, and all traffic between nodes used EFA
  1                usage error, or the job was not judged
  2  not-efa       all traffic between nodes in the logs used something else
  3  mixed         part of the traffic used EFA, part did not
  4  inconclusive  the logs do not prove either; the findings list what is missing
  5                the traffic used EFA, but the job did not succeed`

// jobNotSucceeded is the exit status for verdict efa of a job that failed or was stopped.
const jobNotSucceeded = 5

// submitFlags are the flags of `raytrain submit`.
type submitFlags struct {
	place       place
	job         submit.Job
	environment []string
	pip         string
	attach      string
	evidenceDir string
	onInterrupt string
	failFast    bool
	format      string
	report      string
}

// What Ctrl-C does to the job.
const (
	stopJob  = "stop"
	leaveJob = "leave"
)

func newSubmitCommand() *cobra.Command {
	flags := submitFlags{}
	command := &cobra.Command{
		Use:   "submit [flags] -- COMMAND...",
		Short: "Run a job on any Ray cluster and report whether it used EFA",
		Long:  submitHelp,
		Example: `  raytrain submit --address http://127.0.0.1:8265 --working-dir . -- python train.py
  raytrain submit --kubeconfig kubeconfig --raycluster train --namespace ray --nodes 2 --world-size 8 -- python train.py
  raytrain submit --address http://127.0.0.1:8265 --attach raytrain-abcdefghijkl`,
		Args: flags.checkArguments,
		RunE: flags.run,
	}
	set := command.Flags()
	flags.place.register(set)
	set.StringVar(&flags.job.WorkingDir, "working-dir", "", "local folder that COMMAND runs in; uploaded, at most 100 MiB")
	set.StringArrayVar(&flags.environment, "env", nil, "set a variable in all processes: NAME=VALUE; no secrets")
	set.StringVar(&flags.pip, "pip", "", "requirements file with hashes, whose packages each node installs")
	set.IntVar(&flags.job.WorldSize, "world-size", 0, "number of ranks that the run must have")
	set.IntVar(&flags.job.Nodes, "nodes", 0, "number of nodes that the run must use")
	set.StringVar(&flags.job.Provider, "provider", "efa", "libfabric provider that the run must use")
	set.DurationVar(&flags.job.Deadline, "deadline", 0, "stop the job after this time, such as 30m")
	set.StringVar(&flags.attach, "attach", "", "wait for the job with this submission id instead of submitting one")
	set.StringVar(&flags.onInterrupt, "on-interrupt", stopJob, "what Ctrl-C does to the job: stop|leave")
	set.BoolVar(&flags.failFast, "fail-fast", true, "stop the job as soon as its logs show that it does not use EFA")
	set.StringVar(&flags.evidenceDir, "evidence-dir", "evidence", "folder for reports, output and logs")
	set.StringVar(&flags.format, "format", render.Formats()[0].Name, "format of the report: "+formatNames())
	set.StringVar(&flags.report, "report", "", "write the report to this file instead of standard output")
	return command
}

func formatNames() string {
	var names []string
	for _, format := range render.Formats() {
		names = append(names, format.Name)
	}
	return strings.Join(names, "|")
}

// checkArguments requires either a command or --attach.
func (f *submitFlags) checkArguments(_ *cobra.Command, args []string) error {
	switch {
	case f.attach == "" && len(args) == 0:
		return errors.New(`missing COMMAND: write "-- python train.py", or use --attach`)
	case f.attach != "" && len(args) > 0:
		return fmt.Errorf("flag --attach %q: takes no COMMAND, because the job was submitted", f.attach)
	}
	return nil
}

func (f *submitFlags) run(command *cobra.Command, args []string) error {
	formats := render.Formats()
	i := slices.IndexFunc(formats, func(format render.Format) bool { return format.Name == f.format })
	if err := errors.Join(f.problems(i >= 0)...); err != nil {
		return err
	}
	ctx, errOut := command.Context(), &lockedWriter{out: command.ErrOrStderr()}
	submitter, err := f.place.submitter(ctx)
	if err != nil {
		return err
	}
	submitter.EvidenceDir, submitter.Leave = f.evidenceDir, f.onInterrupt == leaveJob
	submitter.FailFast = f.failFast
	submitter.Output = errOut
	submitter.Again = "raytrain submit " + f.place.String()
	submitter.Clock = evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep}
	submitter.Log = newProgress(errOut, time.Now)
	result, err := f.judge(command, submitter, args)
	if err != nil {
		return err
	}
	if err := f.write(command.OutOrStdout(), formats[i], result.Report); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "job %s %s; report: %s\n", result.SubmissionID, result.Job.Status, result.ReportPath)
	code := result.Report.Verdict.ExitCode()
	if code == 0 && !result.Passed() {
		code = jobNotSucceeded
	}
	if code != 0 {
		return &exit.Error{Code: code}
	}
	return nil
}

func (f *submitFlags) judge(command *cobra.Command, submitter submit.Submitter, args []string) (submit.Result, error) {
	if f.attach != "" {
		return submitter.Attach(command.Context(), f.attach)
	}
	f.job.Entrypoint = commandLine(args)
	var err error
	if f.job.Environment, err = variables(f.environment); err != nil {
		return submit.Result{}, err
	}
	if f.pip != "" {
		requirements, err := script.ReadRequirements(f.pip)
		if err != nil {
			return submit.Result{}, fmt.Errorf("flag --pip: %w", err)
		}
		f.job.Requirements = requirements
	}
	return submitter.Run(command.Context(), f.job)
}

// variables returns the values of --env.
func variables(list []string) (map[string]string, error) {
	values := map[string]string{}
	for _, variable := range list {
		name, value, found := strings.Cut(variable, "=")
		if !found || name == "" {
			return nil, errors.New("flag --env: must be NAME=VALUE, such as NCCL_DEBUG=INFO")
		}
		values[name] = value
	}
	return values, nil
}

// problems lists invalid flag values.
func (f *submitFlags) problems(knownFormat bool) []error {
	problems := f.place.problems()
	if !knownFormat {
		problems = append(problems, fmt.Errorf("flag --format %q: must be one of %s", f.format, formatNames()))
	}
	if f.onInterrupt != stopJob && f.onInterrupt != leaveJob {
		problems = append(problems, fmt.Errorf("flag --on-interrupt %q: must be %s or %s", f.onInterrupt, stopJob, leaveJob))
	}
	for name, value := range map[string]int{"world-size": f.job.WorldSize, "nodes": f.job.Nodes} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("flag --%s %d: must be 1 or more", name, value))
		}
	}
	if f.job.WorldSize > 0 && f.job.Nodes > f.job.WorldSize {
		problems = append(problems, fmt.Errorf(
			"flag --nodes %d: must be at most --world-size %d, because a node has one rank or more", f.job.Nodes, f.job.WorldSize))
	}
	if f.job.Deadline < 0 {
		problems = append(problems, fmt.Errorf("flag --deadline %s: must be a positive time, such as 30m", f.job.Deadline))
	}
	if _, err := variables(f.environment); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// write writes the report to the file of --report, or to out.
func (f *submitFlags) write(out io.Writer, format render.Format, judged report.Report) (err error) {
	if f.report != "" {
		file, err := os.Create(f.report)
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if err := format.Write(out, judged, render.Options{Made: time.Now()}); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// commandLine returns words as one shell command line. A single word is a command line already.
func commandLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsFunc(word, special) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// special reports whether a shell may treat a character in a special way.
func special(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+", r)
}
