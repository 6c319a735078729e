package rehearsal

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/cluster"
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/rehearsal/engine"
)

// explain adds to an update that ended in AWS's words what AWS leaves out. The
// program's and the gate's own refusals say all of it themselves.
func explain(update *engine.Update) (Finding, bool) {
	for _, message := range update.Errors() {
		if cause, next, ok := cluster.ExplainFailure(message, region); ok {
			return Finding{Code: "node-group-failed", Severity: "error", Text: message, Cause: cause, Next: next}, true
		}
	}
	return Finding{}, false
}

// hourlyUSD is the price that the program printed; nil when it got not so far.
func hourlyUSD(update *engine.Update) *float64 {
	for _, text := range update.Info() {
		if total, ok := capacity.ReadTotal(text); ok {
			return &total
		}
	}
	return nil
}

// billing says what a refused update would cost on.
func billing(update *engine.Update) string {
	price := "an unknown price"
	if total := hourlyUSD(update); total != nil {
		price = fmt.Sprintf("up to $%.2f", *total)
	}
	return "nothing in a rehearsal; on AWS now " + price + " per hour until `pulumi destroy`"
}
