package cycle

import (
	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// hourlyUSD is the price that the program printed; nil when it got not so far.
func hourlyUSD(update *engine.Update) *float64 {
	for _, text := range update.Info() {
		if total, ok := capacity.ReadTotal(text); ok {
			return &total
		}
	}
	return nil
}
