package recovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action says what to do with the leftovers that were found.
type Action string

// The actions.
const (
	List   Action = "list"
	Import Action = "import"
	Delete Action = "delete"
)

const (
	// settleTimeout is how long AWS may take to complete a create that was begun. A control plane
	// takes about ten minutes.
	settleTimeout = 40 * time.Minute
	settlePause   = 5 * time.Second
)

// Run finds the leftovers of the stack's pending operations, reports them and acts on them. It
// returns those that are not resolved.
func Run(ctx context.Context, p Pulumi, lookup Lookup, action Action) ([]Leftover, error) {
	state, err := p.Export(ctx)
	if err != nil {
		return nil, err
	}
	leftovers, err := state.Leftovers(ctx, lookup)
	if err != nil {
		return nil, err
	}
	for _, left := range leftovers {
		fmt.Fprintln(p.Out, left.Line())
	}
	unresolved := slices.DeleteFunc(slices.Clone(leftovers), func(l Leftover) bool {
		return l.Status == Absent || l.Status == InState || l.Status == Found && action != List
	})
	if action == List || len(leftovers) == 0 {
		return unresolved, nil
	}
	edited, err := state.resolve(leftovers)
	if err != nil {
		return nil, err
	}
	if _, err := p.output(ctx, edited, "stack", "import"); err != nil {
		return nil, fmt.Errorf("writing the state: %w\nnext: if another update runs, wait until it ends; "+
			"if the one that holds the lock was killed: pulumi cancel --yes, then this command again", err)
	}
	return unresolved, settle(ctx, p, leftovers, action)
}

// settle waits until AWS has completed what it had begun, and then deletes what is to be deleted.
func settle(ctx context.Context, p Pulumi, leftovers []Leftover, action Action) error {
	var imported, unwanted []string
	for _, left := range leftovers {
		if left.Status != Found || left.Replacement {
			continue
		}
		imported = append(imported, left.URN)
		if action == Delete || left.Unfinished {
			unwanted = append(unwanted, left.URN)
		}
	}
	if len(imported) == 0 {
		return nil
	}
	for deadline := time.Now().Add(settleTimeout); ; {
		if err := p.change(ctx, "refresh", imported); err != nil {
			return err
		}
		state, err := p.Export(ctx)
		if err != nil {
			return err
		}
		// A refresh drops what does not exist.
		exists := func(urn string) bool { return state.has(urn) }
		imported, unwanted = keep(imported, exists), keep(unwanted, exists)
		busy := keep(imported, func(urn string) bool { return state.status(urn) == "CREATING" })
		if len(busy) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: still CREATING after %s; next: raytrain recover later, "+
				"or pulumi destroy", strings.Join(busy, ", "), settleTimeout)
		}
		fmt.Fprintf(p.Out, "waiting: %d resources are still CREATING\n", len(busy))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePause):
		}
	}
	if len(unwanted) == 0 {
		return nil
	}
	return p.change(ctx, "destroy", unwanted)
}

func keep(urns []string, wanted func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(urns), func(urn string) bool { return !wanted(urn) })
}
