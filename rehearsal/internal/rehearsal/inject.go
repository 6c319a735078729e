package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// Inject replaces the fault and the settings of the following steps.
func (r *Rehearsal) Inject(
	ctx context.Context, fault faults.Fault, settings map[string]string,
) error {
	r.options.Fault, r.options.Settings = fault, settings
	if err := r.daemon.SetFaults(ctx, fault.Account); err != nil {
		return fmt.Errorf("setting the account's faults: %w", err)
	}
	// The plan is set by the step that it disturbs.
	if err := r.disturb(ctx, disturb.Plan{}); err != nil {
		return err
	}
	return r.openEngine(ctx)
}

// disturb replaces the plan and keeps the fault's defect.
func (r *Rehearsal) disturb(ctx context.Context, plan disturb.Plan) error {
	wanted := daemon.Disturbance{Defect: r.options.Fault.Defect, Plan: plan}
	if err := r.daemon.Disturb(ctx, wanted); err != nil {
		return fmt.Errorf("injecting fault %q: %w", r.options.Fault.Name, err)
	}
	return nil
}

// openEngine opens the stack with the current settings, and releases the lock of a killed engine.
func (r *Rehearsal) openEngine(ctx context.Context) error {
	settings, err := r.settings(ctx)
	if err != nil {
		return err
	}
	env, err := Environment(r.options.Dir, r.options.Root)
	if err != nil {
		return err
	}
	r.engine, err = engine.New(ctx, engine.Config{
		Dir: r.options.Dir, Root: r.options.Root, Env: env, Settings: settings,
		Program: r.options.Program(eventlog.To(eventsFile(r.options.Dir))), Out: r.options.Out,
	})
	return err
}

// ErrNotInjected means that a fault could not be injected, so that its result says nothing.
var ErrNotInjected = errors.New("the fault was not injected")

// UpWithFault runs `pulumi up` and injects the fault of the rehearsal. If the fault interrupts or
// kills the update, it runs up again and returns the result of that.
func (r *Rehearsal) UpWithFault(ctx context.Context) (*Outcome, error) {
	fault := r.options.Fault
	if fault.Action == faults.SwapImage {
		if err := r.swapImage(ctx); err != nil {
			return nil, err
		}
	}
	if fault.Plan == (disturb.Plan{}) {
		return r.Up(ctx)
	}
	if err := r.disturb(ctx, fault.Plan); err != nil {
		return nil, err
	}
	// The plan must not disturb later steps, also when ctx has ended.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
		defer cancel()
		if err := r.disturb(ctx, disturb.Plan{}); err != nil {
			r.say("warning: %s", err)
		}
	}()
	if fault.Action == faults.NoAction {
		return r.Up(ctx)
	}
	return r.upWithAction(ctx, fault.Action)
}

// upWithAction runs up and does the action when a request is held.
func (r *Rehearsal) upWithAction(ctx context.Context, action faults.Action) (*Outcome, error) {
	upCtx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	type result struct {
		outcome *Outcome
		err     error
	}
	ended := make(chan result, 1)
	go func() {
		outcome, err := r.Up(upCtx)
		ended <- result{outcome, err}
	}()
	heldCtx, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	held := make(chan error, 1)
	go func() { held <- r.daemon.Held(heldCtx) }()
	select {
	case first := <-ended:
		return first.outcome, errors.Join(
			first.err,
			fmt.Errorf("%w: the update ended before phase %q",
				ErrNotInjected, r.options.Fault.Plan.Hold),
		)
	case err := <-held:
		if err != nil {
			interrupt()
			<-ended
			return nil, fmt.Errorf("waiting for phase %q: %w", r.options.Fault.Plan.Hold, err)
		}
	}
	r.say("== fault %s: %s", r.options.Fault.Name, action)
	if action == faults.Interrupt || action == faults.Kill {
		err := r.endUpdate(action, interrupt)
		first := <-ended // the held request must not delay the end
		if err != nil || first.err == nil {
			return first.outcome, errors.Join(
				err,
				fmt.Errorf("%w: the update succeeded", ErrNotInjected),
			)
		}
		if err := errors.Join(r.daemon.Release(ctx), r.openEngine(ctx)); err != nil {
			return nil, err
		}
		return r.Up(ctx)
	}
	err := r.act(ctx, action)
	err = errors.Join(err, r.daemon.Release(ctx))
	first := <-ended
	if err != nil {
		return first.outcome, fmt.Errorf("%w: %w", ErrNotInjected, err)
	}
	return first.outcome, first.err
}

// endUpdate interrupts or kills the running update.
func (r *Rehearsal) endUpdate(action faults.Action, interrupt context.CancelFunc) error {
	if action == faults.Kill {
		return r.engine.Kill()
	}
	interrupt()
	return nil
}

const (
	// apiOutage is how long the API server does not respond.
	apiOutage = 20 * time.Second
	// nodeOutage is how long a lost node is off. It starts again, because the emulated account does
	// not replace instances.
	nodeOutage = 5 * time.Second
)

// act does an action that does not end the update.
func (r *Rehearsal) act(ctx context.Context, action faults.Action) error {
	if action == faults.SecondUp {
		if _, err := r.engine.Up(ctx); err == nil {
			return errors.New("a second update ran at the same time")
		}
		return nil
	}
	l, err := r.connect(ctx)
	if err != nil {
		return err
	}
	if action == faults.FreezeAPIServer {
		return r.daemon.FreezeAPIServer(ctx, l.name, apiOutage)
	}
	switch action {
	case faults.KillHead:
		return l.deletePods(ctx, forward.HeadSelector(workloads.RayClusterName))
	case faults.KillWorker:
		return l.deleteWorker(ctx)
	case faults.LoseNode:
		worker, err := l.worker(ctx)
		if err != nil {
			return err
		}
		return r.daemon.RestartNode(ctx, l.name, worker.Spec.NodeName, nodeOutage)
	case faults.DeleteRecord:
		return l.deleteRecord(ctx)
	case faults.StopJob:
		return l.stopJobs(ctx)
	default:
		return fmt.Errorf("action %q is not known", action)
	}
}

// swapImage gives one worker pod another image.
func (r *Rehearsal) swapImage(ctx context.Context) error {
	status, err := r.daemon.Status(ctx)
	if err != nil {
		return err
	}
	l, err := r.connect(ctx)
	if err != nil {
		return err
	}
	return l.swapImage(ctx, status.ImageRepository+"@"+status.Digests[images.Rebuilt])
}
