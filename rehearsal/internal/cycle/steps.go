package cycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awscli"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// ErrRefused is the cause when the engine refused an update.
var ErrRefused = errors.New("the update was refused")

// ErrLeft is the cause when destroy left something that bills or blocks a name.
var ErrLeft = errors.New("the account is not empty")

// Preview shows what up would do.
func (r *Rehearsal) Preview(ctx context.Context) (*engine.Update, error) {
	r.heading("preview")
	return r.ended(r.engine.Preview(ctx))
}

// stateTimeout bounds reading the state after an update; it takes a second.
const stateTimeout = 30 * time.Second

// Up brings the stack up and shows the verdict.
func (r *Rehearsal) Up(ctx context.Context) (*engine.Update, error) {
	r.heading("up")
	update, err := r.ended(r.engine.Up(ctx))
	// An interrupted update has left a state, and whoever interrupted it wants to see it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	state, stateErr := r.state(ctx)
	if stateErr != nil {
		return update, errors.Join(err, stateErr)
	}
	r.showVerdict(state)
	return update, errors.Join(err, r.writeKubeconfig(ctx, state))
}

// Refresh compares the stack's state with what exists.
func (r *Rehearsal) Refresh(ctx context.Context) (*engine.Update, error) {
	r.heading("refresh")
	return r.ended(r.engine.Refresh(ctx))
}

// Destroy takes the stack down and lists what is left in the account.
func (r *Rehearsal) Destroy(ctx context.Context) (*engine.Update, error) {
	r.heading("destroy")
	update, err := r.ended(r.engine.Destroy(ctx))
	// Whoever interrupts a destroy must know what still bills.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	inventory, listErr := r.daemon.Inventory(ctx)
	if listErr != nil {
		return update, errors.Join(err, fmt.Errorf("%w, as far as is known: listing what is left: %w", ErrLeft, listErr))
	}
	left := remains(inventory)
	if len(left) == 0 {
		r.say("rehearsed account: empty, nothing bills")
		for _, item := range inventory.Items {
			r.say("  kept: %s %s, neither billing nor blocking a name (%s)", item.Type, item.ID, item.Note)
		}
		return update, err
	}
	r.say("rehearsed account: NOT empty:")
	for _, line := range left {
		r.say("  %s", line)
	}
	return update, errors.Join(err, ErrLeft)
}

// ended turns the engine's error into ErrRefused and prints a summary.
func (r *Rehearsal) ended(update *engine.Update, err error) (*engine.Update, error) {
	if update == nil {
		return nil, err
	}
	for _, line := range update.Info() {
		r.say("%s", line)
	}
	if err != nil {
		for _, message := range update.Errors() {
			r.say("error: %s", labelled(message))
		}
		if len(update.Errors()) == 0 {
			r.say("error: %s", err)
		}
		return update, fmt.Errorf("%w in %s", ErrRefused, update.Title)
	}
	r.say("%s in %.1fs", changes(update), update.Seconds())
	return update, nil
}

// changes says what an update did, such as "+ 61 create".
func changes(update *engine.Update) string {
	counts := update.Changes()
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

// showVerdict prints the verdict with its per-rank table and findings.
func (r *Rehearsal) showVerdict(state stackState) {
	r.say("verdict (rehearsed): %s", state.verdict())
	if state.gate == nil {
		return
	}
	if len(state.gate.Ranks) > 0 {
		r.say("  %-4s  %-34s  %-13s  %-8s  %s", "rank", "host", "network", "provider", "channels")
	}
	for _, rank := range state.gate.Ranks {
		r.say("  %-4d  %-34s  %-13s  %-8s  %s", rank.Rank, rank.Host, orNone(rank.Network), orNone(rank.Provider), transports(rank.Channels))
	}
	if steps := state.gate.StepsPerSecond; steps != nil {
		r.say("  %.4f steps/s (rehearsed, CPU: says nothing about EFA's speed)", *steps)
	}
	if state.gate.ReportPath != "" {
		r.say("  report: %s", state.gate.ReportPath)
	}
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (r *Rehearsal) state(ctx context.Context) (stackState, error) {
	exported, err := r.engine.Export(ctx)
	if err != nil {
		return stackState{}, err
	}
	return readState(exported)
}

// writeKubeconfig writes, where `rehearse env` points kubectl, how to reach the
// stack's cluster: from the account, as a first update that was refused leaves no
// outputs. A cluster that is not there, or not yet, leaves no file.
func (r *Rehearsal) writeKubeconfig(ctx context.Context, state stackState) error {
	if state.cluster == "" {
		return nil
	}
	_, err := awscli.UpdateKubeconfig(ctx, r.daemon.Account(), state.cluster, region, filepath.Join(r.options.Dir, "kubeconfig"))
	var refused *api.Error
	if errors.Is(err, awscli.ErrNotActive) || errors.As(err, &refused) && refused.Code == "ResourceNotFoundException" {
		return nil
	}
	return err
}

// Stop ends the daemon; the folder stays.
func (r *Rehearsal) Stop(ctx context.Context) error { return r.daemon.Stop(ctx) }

// phaseOf says where an update was refused, by the resource that failed.
func phaseOf(update *engine.Update, verdict string) faults.Phase {
	if update == nil || update.Err == nil {
		return ""
	}
	failed, ok := update.Failed()
	switch {
	case update.Title == "preview" || !ok:
		return faults.PhasePreview
	case failed.Type != trainingJobType:
		return faults.PhaseNodes
	case verdict == "none":
		return faults.PhasePreflight
	default:
		return faults.PhaseGate
	}
}

func (r *Rehearsal) heading(step string) { r.say("\n== rehearsal: %s", step) }

func (r *Rehearsal) say(format string, args ...any) {
	if r.options.Out != nil {
		fmt.Fprintf(r.options.Out, format+"\n", args...)
	}
}
