package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// encode returns the expectations as text for the job's metadata.
func (e Expected) encode() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("encoding what is required of the run: %w", err)
	}
	return string(text), nil
}

func decodeExpected(text string) (Expected, error) {
	var want Expected
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		return want, fmt.Errorf("reading what is required of the run: %w", err)
	}
	return want, nil
}

// ErrImpossible means that the cluster cannot run the job as required.
var ErrImpossible = errors.New("the cluster cannot run this job")

// preflight returns the head's session, or an error if the cluster has too few nodes or GPUs. What
// is not required is not checked: a cluster may grow while the job waits.
func (s Submitter) preflight(ctx context.Context, want Expected) (session string, err error) {
	version, err := s.Ray.Version(ctx)
	if err != nil {
		return "", err
	}
	if want.WorldSize == 0 && want.Nodes == 0 {
		return version.SessionName, nil
	}
	nodes, err := s.Ray.Nodes(ctx)
	if err != nil {
		return "", err
	}
	gpus, holders := 0, 0
	for _, node := range nodes {
		if count := int(node.Resources["GPU"]); node.State == rayapi.Alive && count > 0 {
			holders++
			gpus += count
		}
	}
	switch {
	case holders == 0: // ranks without GPUs, which only the verdict can judge
		return version.SessionName, nil
	case holders < want.Nodes:
		return "", fmt.Errorf("%w: it has %d nodes with GPUs, required: %d; next: ray status, or --nodes %d",
			ErrImpossible, holders, want.Nodes, holders)
	case gpus < want.WorldSize:
		return "", fmt.Errorf("%w: it has %d GPUs, required: %d, one for each rank; next: ray status, "+
			"or --world-size %d", ErrImpossible, gpus, want.WorldSize, gpus)
	}
	return version.SessionName, nil
}
