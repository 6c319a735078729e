// Package cycle runs all steps of a rehearsal: preview, up, verdict, destroy, with or without a
// fault.
package cycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

// Run runs one whole rehearsal: preview, up, verdict and, unless keep is true, destroy. The result
// is complete even if the update was refused. An error means that the rehearsal itself failed.
func Run(ctx context.Context, options rehearsal.Options, files Files, keep bool) (Result, error) {
	result := Result{
		Rehearsed: true, Fault: options.Fault.Name, Verdict: rehearsal.VerdictNone, Findings: []report.Finding{},
	}
	started := time.Now()
	r, err := rehearsal.Open(ctx, options)
	if err != nil {
		return result, err
	}
	if !keep {
		defer func() {
			// The cycle may have ended because ctx did.
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			if err := r.Stop(stopCtx); err != nil {
				fmt.Fprintf(options.Out, "warning: %s\n", err)
			}
		}()
	}
	result.Seconds.Setup = time.Since(started).Seconds()
	c := &cycle{rehearsal: r, fault: options.Fault, result: &result, keep: keep}
	if err := c.run(ctx); err != nil {
		return result, err
	}
	summarize(options.Out, result)
	return result, files.write(&result, c.state.Exported, c.updates)
}

// cycle is one call of Run.
type cycle struct {
	rehearsal *rehearsal.Rehearsal
	fault     faults.Fault
	result    *Result
	keep      bool
	updates   []*engine.Update
	state     rehearsal.State
	// refused is the last refused update; nil if there is none.
	refused *rehearsal.Outcome
}

func (c *cycle) run(ctx context.Context) error {
	if err := c.forward(ctx); err != nil {
		return err
	}
	if err := c.judge(ctx); err != nil {
		return err
	}
	if c.keep {
		return nil
	}
	destroyed, err := c.rehearsal.Destroy(ctx)
	c.add(destroyed, &c.result.Seconds.Destroy)
	empty := err == nil
	c.result.AccountEmpty = &empty
	if errors.Is(err, rehearsal.ErrRefused) || errors.Is(err, rehearsal.ErrLeft) {
		c.result.Exit = ExitLeft
		return nil
	}
	return err
}

// forward runs the steps before destroy, until one is refused.
func (c *cycle) forward(ctx context.Context) error {
	seconds := &c.result.Seconds
	preview, err := c.rehearsal.Preview(ctx)
	if err := c.record(preview, err, &seconds.Preview); err != nil || c.refused != nil {
		return err
	}
	return c.update(ctx)
}

// update runs up with the fault and, where the fault says so, refresh and up again.
func (c *cycle) update(ctx context.Context) error {
	seconds := &c.result.Seconds
	up, err := c.rehearsal.UpWithFault(ctx)
	if err := c.record(up, err, &seconds.Up); err != nil || c.refused == nil ||
		!c.fault.RefreshAfterRed {
		return err
	}
	// After a refused up, refresh and the next up must be refused as well.
	refresh, err := c.rehearsal.Refresh(ctx)
	if err := c.record(refresh, err, &seconds.Up); err != nil {
		return err
	}
	again, err := c.rehearsal.Up(ctx)
	return c.record(again, err, &seconds.Up)
}

// record records what a step returned. A refusal is not an error here.
func (c *cycle) record(outcome *rehearsal.Outcome, err error, seconds *float64) error {
	c.add(outcome, seconds)
	c.refused = nil
	if outcome != nil && errors.Is(err, rehearsal.ErrRefused) &&
		!errors.Is(err, rehearsal.ErrNotInjected) {
		c.refused = outcome
		return nil
	}
	return err
}

func (c *cycle) add(outcome *rehearsal.Outcome, seconds *float64) {
	if outcome == nil {
		return
	}
	c.updates = append(c.updates, outcome.Update)
	*seconds += outcome.Seconds()
	if outcome.HourlyUSD != nil {
		c.result.HourlyUSD = outcome.HourlyUSD
	}
}

// judge fills in the result from the refused update and from the state, which destroy then empties.
func (c *cycle) judge(ctx context.Context) error {
	state, err := c.rehearsal.State(ctx)
	if err != nil {
		return err
	}
	c.state = state
	c.result.Resources = state.Resources
	c.result.Verdict = state.Verdict()
	c.result.Exit = ExitGreen
	if c.refused != nil {
		c.result.Exit = ExitRefused
		c.result.Phase = string(phase(c.refused.Update, state))
		c.result.Findings = c.refused.Findings()
	}
	if state.Job != nil && len(state.Job.Findings) > 0 {
		c.result.Findings = state.Job.Findings
	}
	return nil
}

// phase returns where an update was refused, by the resource that failed.
func phase(update *engine.Update, state rehearsal.State) faults.Phase {
	failed, ok := update.Failed()
	switch {
	case update.Title == "preview" || !ok:
		return faults.PhasePreview
	case failed.Type != rehearsal.TrainingJobType:
		return faults.PhaseNodes
	case state.Job == nil || state.Verdict() == rehearsal.VerdictNone && state.Job.SubmissionID == "":
		return faults.PhasePreflight
	case state.JobFailed():
		return faults.PhaseJob
	default:
		return faults.PhaseGate
	}
}

// summarize prints the last lines of a cycle.
func summarize(out io.Writer, result Result) {
	fault := result.Fault
	if fault == "" {
		fault = "none"
	}
	fmt.Fprintf(out, "\n== end of the rehearsal (nothing was created on AWS)\n")
	fmt.Fprintf(out, "fault %s: verdict %s, exit %d\n", fault, result.Verdict, result.Exit)
	fmt.Fprintf(out, "seconds: set-up %.1f, preview %.1f, up %.1f, destroy %.1f\n",
		result.Seconds.Setup, result.Seconds.Preview, result.Seconds.Up, result.Seconds.Destroy)
	if result.HourlyUSD != nil {
		fmt.Fprintf(out, "on AWS this stack would cost $%.2f per hour\n", *result.HourlyUSD)
	}
}
