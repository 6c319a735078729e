package verdict

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// classify returns the traffic of one Tally of a communicator that spans nodes. final is the last
// selected provider; it applies to channels printed before any selection, because collectors may
// reorder lines.
func classify(t *model.Tally, final string, mnnvl report.Traffic) report.Traffic {
	switch t.Medium {
	case record.MediumLocal:
		return report.TrafficLocal
	case record.MediumMNNVL:
		return mnnvl
	case record.MediumOdd:
		return report.TrafficUnknown
	}
	if !record.IsEFANetwork(record.NetworkOf(t.Label)) {
		return report.TrafficOther
	}
	provider := t.Provider
	if provider == "" {
		provider = final
	}
	switch provider {
	case "":
		return report.TrafficUnknown
	case record.EFAProvider:
		return report.TrafficEFA
	default:
		return report.TrafficOther
	}
}
