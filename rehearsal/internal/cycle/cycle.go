package cycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// Files says where a cycle writes what machines read; "" writes nothing.
type Files struct {
	JSON, State, Timeline string
}

// Check tries, before minutes of work, whether the files can be written. It
// leaves what is in them. Files in dir itself pass: it may still have to be made.
func (f Files) Check(dir string) error {
	var problems []error
	for _, file := range []struct{ flag, name string }{
		{"--json", f.JSON}, {"--state", f.State}, {"--timeline", f.Timeline},
	} {
		if file.name == "" || dir != "" && filepath.Dir(file.name) == filepath.Clean(dir) {
			continue
		}
		if err := writable(file.name); err != nil {
			problems = append(problems, fmt.Errorf("using %s %q: %w: name a file that can be written", file.flag, file.name, err))
		}
	}
	return errors.Join(problems...)
}

// writable opens a file as writing it would, and removes it if it was not there.
func writable(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // a pipe or a device: to open it may wait for a reader
	}
	file, openErr := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if openErr != nil {
		return openErr
	}
	if err = file.Close(); err == nil && info == nil {
		return os.Remove(name)
	}
	return err
}

// Cycle runs one whole rehearsal: preview, up, verdict and, unless keep is
// true, destroy. The result is whole also when the update was refused; an
// error means that the rehearsal itself failed.
func Cycle(ctx context.Context, options Options, files Files, keep bool) (Result, error) {
	result := Result{Rehearsed: true, Fault: options.Fault.Name, Verdict: "none", Findings: []Finding{}}
	started := time.Now()
	r, err := Open(ctx, options)
	if err != nil {
		return result, err
	}
	if !keep {
		defer func() {
			// The context may be the reason why the cycle ended.
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			if err := r.Stop(stopCtx); err != nil {
				r.say("warning: %s", err)
			}
		}()
	}
	result.Seconds.Setup = time.Since(started).Seconds()
	c := &cycle{rehearsal: r, result: &result, keep: keep}
	err = c.run(ctx)
	if err != nil {
		return result, err
	}
	r.summary(result)
	return result, c.write(files)
}

// cycle is one run of Cycle.
type cycle struct {
	rehearsal *Rehearsal
	result    *Result
	keep      bool
	updates   []*engine.Update
	exported  []byte
}

func (c *cycle) run(ctx context.Context) error {
	refused, err := c.forward(ctx)
	if err != nil {
		return err
	}
	if err := c.record(ctx); err != nil {
		return err
	}
	c.result.Exit = ExitGreen
	if refused {
		c.result.Exit = ExitRefused
	}
	if c.keep {
		return nil
	}
	destroyed, err := c.rehearsal.Destroy(ctx)
	c.add(destroyed, &c.result.Seconds.Destroy)
	empty := err == nil
	c.result.AccountEmpty = &empty
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused) || errors.Is(err, ErrLeft):
		c.result.Exit = ExitLeft
		return nil
	default:
		return err
	}
}

// forward runs the steps before destroy; true means that one was refused.
func (c *cycle) forward(ctx context.Context) (bool, error) {
	preview, err := c.rehearsal.Preview(ctx)
	c.add(preview, &c.result.Seconds.Preview)
	if err != nil {
		return c.refused(preview, err)
	}
	up, err := c.rehearsal.Up(ctx)
	c.add(up, &c.result.Seconds.Up)
	refused, err := c.refused(up, err)
	if err != nil || c.rehearsal.options.Fault.Script != faults.ScriptRefreshAfterRed {
		return refused, err
	}
	// A refresh of a red stack ends red too: that is the point, not a failure.
	refreshed, err := c.rehearsal.Refresh(ctx)
	c.add(refreshed, &c.result.Seconds.Up)
	if _, err := c.refused(refreshed, err); err != nil {
		return false, err
	}
	again, err := c.rehearsal.Up(ctx)
	c.add(again, &c.result.Seconds.Up)
	return c.refused(again, err)
}

// refused tells a refusal, which a rehearsal may well be about, from a failure
// of the rehearsal itself.
func (c *cycle) refused(update *engine.Update, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, ErrRefused) || update == nil {
		return false, err
	}
	c.result.Phase = string(phaseOf(update, "none"))
	c.result.HourlyUSD = hourlyUSD(update)
	for _, message := range update.Errors() {
		c.result.Findings = append(c.result.Findings, refusalFinding(message))
	}
	return true, nil
}

func (c *cycle) add(update *engine.Update, seconds *float64) {
	if update == nil {
		return
	}
	c.updates = append(c.updates, update)
	*seconds += update.Seconds()
}

// record takes the evidence out of the state before destroy removes it.
func (c *cycle) record(ctx context.Context) error {
	exported, err := c.rehearsal.engine.Export(ctx)
	if err != nil {
		return err
	}
	c.exported = exported
	state, err := readState(exported)
	if err != nil {
		return err
	}
	c.result.Resources = state.resources
	c.result.Verdict = state.verdict()
	outputs, err := c.rehearsal.engine.Outputs(ctx)
	if err != nil {
		return err
	}
	if exported := number(outputs["hourlyUsd"]); exported != nil {
		c.result.HourlyUSD = exported
	}
	if state.gate == nil {
		return nil
	}
	if c.result.HourlyUSD == nil {
		c.result.HourlyUSD = state.gate.HourlyUSD
	}
	if len(state.gate.Findings) > 0 {
		c.result.Findings = state.gate.Findings
	}
	if c.result.Phase != "" {
		for i := len(c.updates) - 1; i >= 0; i-- {
			if c.updates[i].Err != nil {
				c.result.Phase = string(phaseOf(c.updates[i], c.result.Verdict))
				break
			}
		}
		if c.result.Phase == string(faults.PhaseGate) && state.gate.jobFailed() {
			c.result.Phase = string(faults.PhaseJob)
		}
	}
	return nil
}

func (c *cycle) write(files Files) error {
	var problems []error
	if files.JSON != "" {
		problems = append(problems, writeJSON(files.JSON, c.result))
	}
	if files.State != "" {
		problems = append(problems, os.WriteFile(files.State, c.exported, 0o600))
	}
	if files.Timeline != "" {
		problems = append(problems, c.writeTimeline(files.Timeline))
	}
	return errors.Join(problems...)
}

func (c *cycle) writeTimeline(name string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("creating the time line: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return engine.WriteTimeline(file, c.updates)
}

// summary prints the cycle's last lines.
func (r *Rehearsal) summary(result Result) {
	r.say("\n== rehearsal ended (nothing of this happened on AWS)")
	name := result.Fault
	if name == "" {
		name = "none"
	}
	r.say("fault %s: verdict %s, exit %d", name, result.Verdict, result.Exit)
	r.say("seconds: set-up %.1f, preview %.1f, up %.1f, destroy %.1f", result.Seconds.Setup,
		result.Seconds.Preview, result.Seconds.Up, result.Seconds.Destroy)
	if result.HourlyUSD != nil {
		r.say("on AWS this stack would bill $%.2f an hour", *result.HourlyUSD)
	}
}
