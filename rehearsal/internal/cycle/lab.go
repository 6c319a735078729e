package cycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

// Mismatches compares a result with its row of the table; empty if they agree.
func Mismatches(row faults.Fault, result Result) []string {
	var problems []string
	expect := func(what, got, want string) {
		if got != want {
			problems = append(problems, fmt.Sprintf("%s is %q, want %q", what, got, want))
		}
	}
	expect("verdict", result.Verdict, row.Verdict)
	expect("exit", strconv.Itoa(result.Exit), strconv.Itoa(row.Exit()))
	phase := row.Phase
	if phase == faults.PhaseNone {
		phase = ""
	}
	expect("phase", result.Phase, string(phase))
	if row.Cause != "" {
		expect("first cause", firstCause(result.Findings), row.Cause)
	}
	return problems
}

// firstCause returns the code of the first error; "" if there is none.
func firstCause(findings []report.Finding) string {
	for _, finding := range findings {
		if finding.Severity == report.Error {
			return finding.Code
		}
	}
	return ""
}

// Lab is a standing stack on which updates with faults run one after another.
type Lab struct {
	rehearsal *rehearsal.Rehearsal
	settings  map[string]string
	log       *os.File
	// updates counts the updates; last is the job as the latest one left it, nil for none.
	updates int
	last    *rehearsal.Job
}

// logName is the file in the rehearsal's folder with the output of a lab's updates.
const logName = "faults.log"

// labType is the GPU type of a lab: with one GPU for each of the two nodes, a job starts two ranks
// instead of eight, which is what takes most of an update's time.
const labType = "g6.8xlarge"

// OpenLab creates a stack without a job.
func OpenLab(ctx context.Context, options rehearsal.Options) (*Lab, error) {
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the rehearsal: %w", err)
	}
	l := &Lab{settings: map[string]string{"gpu.instanceType": labType}}
	maps.Copy(l.settings, options.Settings)
	options.Fault = faults.Healthy()
	options.Settings = l.with(map[string]string{"job.enabled": "false"})
	options.Out = writerFunc(func(p []byte) (int, error) { return l.log.Write(p) })
	// The folder is not one of a rehearsal before Open, so the log begins next to it.
	temporary, err := os.CreateTemp(filepath.Dir(options.Dir), "raytrain-faults-*.log")
	if err != nil {
		return nil, fmt.Errorf("creating the log of the faults: %w", err)
	}
	l.log = temporary
	if l.rehearsal, err = rehearsal.Open(ctx, options); err != nil {
		return nil, errors.Join(err, l.log.Close(), os.Remove(temporary.Name()))
	}
	if err := os.Rename(temporary.Name(), filepath.Join(options.Dir, logName)); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	if _, err := l.rehearsal.Up(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the standing stack: %w", err), l.Close(ctx))
	}
	return l, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// with returns the lab's settings with others.
func (l *Lab) with(others map[string]string) map[string]string {
	settings := maps.Clone(l.settings)
	maps.Copy(settings, others)
	return settings
}

// Run runs one update with a fault, removes the fault, and returns what differs from the fault's
// row or breaks an invariant.
func (l *Lab) Run(ctx context.Context, fault faults.Fault) (Result, []string, error) {
	result := Result{Rehearsed: true, Fault: fault.Name, Verdict: rehearsal.VerdictNone,
		Findings: []report.Finding{}}
	l.updates++
	// Another proof than the ones before, so that the job runs again. After an update that failed without a
	// new state, the proof of an older one still counts.
	steps := map[string]string{"job.steps": strconv.Itoa(4 + l.updates%7)}
	maps.Copy(steps, fault.Settings)
	if err := l.rehearsal.Inject(ctx, fault, l.with(steps)); err != nil {
		return result, nil, err
	}
	c := &cycle{rehearsal: l.rehearsal, fault: fault, result: &result}
	if err := c.update(ctx); err != nil {
		return result, nil, errors.Join(err, l.recover(ctx))
	}
	if err := c.judge(ctx); err != nil {
		return result, nil, errors.Join(err, l.recover(ctx))
	}
	if c.refused != nil && c.refused.Unjudged {
		result.Phase, result.Verdict = string(faults.PhasePreflight), rehearsal.VerdictNone
		result.Findings = c.refused.Findings()
	}
	problems := Mismatches(fault, result)
	if ran := attempts(c.state.Job) - attempts(l.last); fault.Exit() == ExitGreen && ran != 1 {
		problems = append(problems, fmt.Sprintf("%d jobs were submitted, want 1", ran))
	}
	l.last = c.state.Job
	broken, err := l.rehearsal.Invariants(ctx)
	problems = append(problems, broken...)
	if fault.NeedsNewPods() {
		err = errors.Join(err, l.recover(ctx))
	}
	return result, problems, err
}

// attempts returns the number of the newest attempt.
func attempts(job *rehearsal.Job) int {
	if job == nil {
		return 0
	}
	return job.Attempt
}

// recover replaces all pods, so that the next update finds a healthy cluster.
func (l *Lab) recover(ctx context.Context) error { return l.rehearsal.ResetPods(ctx) }

// Close destroys the stack, stops the rehearsal, and returns an error if the account is not empty.
func (l *Lab) Close(ctx context.Context) error {
	// The lab may end because ctx did.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := l.rehearsal.Inject(stopCtx, faults.Healthy(), l.settings)
	if err == nil {
		_, err = l.rehearsal.Destroy(stopCtx)
	}
	return errors.Join(err, l.rehearsal.Stop(stopCtx), l.log.Close())
}

// closeTimeout bounds destroy, which takes less than a minute on an idle machine.
const closeTimeout = 10 * time.Minute

// RunAll runs faults on one standing stack and prints one line for each. It returns the number of
// those that did not end as their rows say.
func RunAll(
	ctx context.Context,
	options rehearsal.Options,
	rows []faults.Fault,
) (failed int, err error) {
	out := options.Out
	lab, err := OpenLab(ctx, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lab.Close(ctx)) }()
	for i, row := range rows {
		started := time.Now()
		result, problems, runErr := lab.Run(ctx, row)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if runErr != nil {
			problems = append(problems, runErr.Error())
		}
		if len(problems) > 0 {
			failed++
		}
		Print(
			out,
			fmt.Sprintf("%d/%d", i+1, len(rows)),
			row.Name,
			result,
			problems,
			time.Since(started),
		)
	}
	return failed, nil
}

// Print prints the line of one fault.
func Print(
	out io.Writer,
	number, name string,
	result Result,
	problems []string,
	took time.Duration,
) {
	if name == "" {
		name = "no fault"
	}
	if len(problems) > 0 {
		fmt.Fprintf(out, "FAIL %s %s: %s (%.0f s)\n", number, name, strings.Join(problems, "; "),
			took.Seconds())
		return
	}
	cause := firstCause(result.Findings)
	if cause != "" {
		cause = ", " + cause
	}
	fmt.Fprintf(out, "ok   %s %s: verdict %s, exit %d%s (%.0f s)\n", number, name, result.Verdict,
		result.Exit, cause, took.Seconds())
}

// Soak returns count faults that share a stack, chosen at random, with healthy updates among them.
// The same seed gives the same faults.
func Soak(count int, seed uint64) []faults.Fault {
	shared := slices.DeleteFunc(faults.Table(), func(f faults.Fault) bool { return !f.Shared() })
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // repeatable, not secret
	chosen := make([]faults.Fault, 0, count)
	for range count {
		// Two of ten updates are healthy, so that a fault that outlives its update shows.
		if random.IntN(10) < 2 {
			chosen = append(chosen, faults.Healthy())
			continue
		}
		chosen = append(chosen, shared[random.IntN(len(shared))])
	}
	return chosen
}
