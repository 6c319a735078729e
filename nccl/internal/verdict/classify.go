package verdict

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
)

// classify judges one tally of a communicator that spans nodes. final is the
// provider that the process ended up with, for channels that were printed
// before any selection was (collectors may reorder lines).
func classify(t *model.Tally, final string, mnnvl model.Class) model.Class {
	switch t.Medium {
	case record.MediumLocal:
		return model.ClassLocal
	case record.MediumMNNVL:
		return mnnvl
	case record.MediumOdd:
		return model.ClassUnknown
	}
	if !record.IsEFANetwork(record.NetworkOf(t.Label)) {
		return model.ClassOther
	}
	provider := t.Provider
	if provider == "" {
		provider = final
	}
	switch provider {
	case "":
		return model.ClassUnknown
	case record.EFAProvider:
		return model.ClassEFA
	default:
		return model.ClassOther
	}
}
