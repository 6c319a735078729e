package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awscli"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// ErrRefused means that an update was refused.
var ErrRefused = errors.New("the update was refused")

// ErrLeft means that destroy left resources that cost money or reserve a name.
var ErrLeft = errors.New("the account is not empty")

// Preview runs `pulumi preview`.
func (r *Rehearsal) Preview(ctx context.Context) (*Outcome, error) {
	return r.run(ctx, "preview", r.engine.Preview)
}

// stateTimeout bounds reading the state after an update, which takes about a second.
const stateTimeout = 30 * time.Second

// Up runs `pulumi up` and prints the verdict.
func (r *Rehearsal) Up(ctx context.Context) (*Outcome, error) {
	before, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := r.run(ctx, "up", r.engine.Up)
	if outcome == nil || errors.Is(err, ErrPartLost) {
		return outcome, err
	}
	// An interrupted update has a state too, which the user needs to see.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	state, stateErr := r.State(ctx)
	if stateErr != nil {
		return outcome, errors.Join(err, stateErr)
	}
	outcome.Unjudged = err != nil && reflect.DeepEqual(before.Job, state.Job)
	if outcome.Unjudged {
		r.say("verdict (rehearsed): %s", VerdictNone)
	} else {
		r.showVerdict(state)
	}
	return outcome, errors.Join(err, r.writeKubeconfig(ctx, state))
}

// Refresh runs `pulumi refresh`.
func (r *Rehearsal) Refresh(ctx context.Context) (*Outcome, error) {
	return r.run(ctx, "refresh", r.engine.Refresh)
}

// Destroy runs `pulumi destroy` and lists what is left in the account.
func (r *Rehearsal) Destroy(ctx context.Context) (*Outcome, error) {
	outcome, err := r.run(ctx, "destroy", r.engine.Destroy)
	if outcome == nil || errors.Is(err, ErrPartLost) {
		return outcome, err
	}
	// An interrupted destroy must also list what still costs money.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	inventory, listErr := r.daemon.Inventory(ctx)
	if listErr != nil {
		return outcome, errors.Join(err,
			fmt.Errorf("%w (assumed): listing the remaining resources: %w", ErrLeft, listErr))
	}
	left := remains(inventory)
	if len(left) == 0 {
		r.say("emulated AWS account: empty, no costs")
		for _, item := range inventory.Items {
			r.say("  kept: %s %s, without cost (%s)", item.Type, item.ID, item.Note)
		}
		return outcome, err
	}
	r.say("emulated AWS account: NOT empty:")
	for _, line := range left {
		r.say("  %s", line)
	}
	return outcome, errors.Join(err, ErrLeft)
}

// run runs one operation of the engine and prints the result. The outcome is nil if the engine
// could not start.
func (r *Rehearsal) run(
	ctx context.Context, title string, operation func(context.Context) (*engine.Update, error),
) (*Outcome, error) {
	r.say("\n== rehearsal: %s", title)
	if err := removeEvents(r.options.Dir); err != nil {
		return nil, err
	}
	stepCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := r.watch(stepCtx, cancel)
	update, updateErr := operation(stepCtx)
	lost := context.Cause(stepCtx)
	cancel(nil)
	warnings := <-watched
	if update == nil {
		return nil, updateErr
	}
	outcome, err := newOutcome(r.options.Dir, update)
	if err != nil {
		return nil, errors.Join(updateErr, err)
	}
	for _, line := range update.Info {
		r.say("%s", line)
	}
	for _, line := range append(update.Warnings, warnings...) {
		r.say("warning: %s", line)
	}
	if errors.Is(lost, ErrPartLost) {
		return outcome, fmt.Errorf("running %s: %w", title, lost)
	}
	if updateErr != nil {
		for _, message := range outcome.messages() {
			r.say("error: %s", message)
		}
		return outcome, fmt.Errorf("%w in %s", ErrRefused, title)
	}
	r.say("%s in %.1fs", changes(update), update.Seconds())
	return outcome, nil
}

// changes summarizes an update, such as "up: + 61 create".
func changes(update *engine.Update) string {
	counts := update.Changes
	var parts []string
	for _, kind := range []struct {
		op   apitype.OpType
		text string
	}{
		{apitype.OpCreate, "+ %d create"}, {apitype.OpUpdate, "~ %d update"},
		{apitype.OpReplace, "± %d replace"}, {apitype.OpDelete, "- %d delete"},
	} {
		if count := counts[kind.op]; count > 0 {
			parts = append(parts, fmt.Sprintf(kind.text, count))
		}
	}
	if len(parts) == 0 {
		return update.Title + ": no changes"
	}
	return update.Title + ": " + strings.Join(parts, ", ")
}

// showVerdict prints the verdict and the table of ranks.
func (r *Rehearsal) showVerdict(state State) {
	r.say("verdict (rehearsed): %s", state.Verdict())
	if state.Job == nil {
		return
	}
	const row = "  %-4v  %-34s  %-13s  %-8s  %s"
	if len(state.Job.Ranks) > 0 {
		r.say(row, "rank", "host", "network", "provider", "channels")
	}
	for _, rank := range state.Job.Ranks {
		r.say(row, rank.Rank, rank.Host, orDash(rank.Network), orDash(rank.Provider),
			transports(rank.Channels))
	}
	if steps := state.Job.StepsPerSecond; steps != nil {
		r.say("  %.4f steps/s (rehearsed, on CPUs: no measure of EFA's speed)", *steps)
	}
	if state.Job.ReportPath != "" {
		r.say("  report: %s", state.Job.ReportPath)
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// State reads the stack's state.
func (r *Rehearsal) State(ctx context.Context) (State, error) {
	exported, err := r.engine.Export(ctx)
	if err != nil {
		return State{}, err
	}
	return readState(exported)
}

// writeKubeconfig writes the kubeconfig that `rehearse env` names. It reads the cluster from the
// account, because a failed first update has no outputs. It writes no file if the cluster is
// missing or not yet active.
func (r *Rehearsal) writeKubeconfig(ctx context.Context, state State) error {
	if state.Cluster == "" {
		return nil
	}
	file := filepath.Join(r.options.Dir, "kubeconfig")
	_, err := awscli.UpdateKubeconfig(ctx, r.daemon.Account(), state.Cluster, region, file)
	var refused *api.Error
	if errors.Is(err, awscli.ErrNotActive) || errors.As(err, &refused) &&
		refused.Code == "ResourceNotFoundException" {
		return nil
	}
	return err
}

// remains returns one line for each resource that destroy left.
func remains(inventory api.Inventory) []string {
	var lines []string
	for _, item := range inventory.Remains() {
		line := fmt.Sprintf("%s %s", item.Type, item.ID)
		if item.Bills {
			line += fmt.Sprintf(", billing $%.4f/h", item.HourlyUSD)
		}
		if item.BlocksName {
			line += ", reserves its name"
		}
		if item.Note != "" {
			line += ", " + item.Note
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *Rehearsal) say(format string, args ...any) {
	if r.options.Out != nil {
		fmt.Fprintf(r.options.Out, format+"\n", args...)
	}
}
