package stack

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
)

// ErrReported is returned when the refusal was already printed. Callers must not print it.
var ErrReported = errors.New("refused: the reason is printed above")

// reporter reports refusals as Pulumi diagnostics and as events.
type reporter struct {
	ctx    *pulumi.Context
	events eventlog.Log
	// zone is that of the nodes, for explanations of failures.
	zone *nodeZone
	// failure is what a failed resource does to the stack's outputs.
	failure *failedUpdate
}

// refuse reports the refusals in err and returns ErrReported. Pulumi would print them itself below
// "an unhandled error occurred". An error without a refusal is returned unchanged; usually it only
// means that a resource failed.
func (r reporter) refuse(err error) error {
	refusals := refusal.All(err)
	if len(refusals) == 0 {
		return err
	}
	if failed := r.append(refusals...); failed != nil {
		return errors.Join(err, failed)
	}
	if failed := r.ctx.Log.Error(err.Error(), nil); failed != nil {
		return errors.Join(err, fmt.Errorf("printing the refusal: %w", failed))
	}
	return ErrReported
}

// append writes refusals to the event log.
func (r reporter) append(refusals ...*refusal.Refusal) error {
	for _, one := range refusals {
		if err := r.events.Append(eventlog.Event{Refusal: one}); err != nil {
			return err
		}
	}
	return nil
}

// price prints the estimate and appends it to the event log.
func (r reporter) price(table string, hourlyUSD float64) error {
	if err := r.events.Append(eventlog.Event{HourlyUSD: &hourlyUSD}); err != nil {
		return err
	}
	if err := r.ctx.Log.Info(table, nil); err != nil {
		return fmt.Errorf("printing the price: %w", err)
	}
	return nil
}
