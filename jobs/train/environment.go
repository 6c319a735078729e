package train

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Run is one run of the training code on a cluster.
type Run struct {
	Config Config
	// SubmissionID is the job's id, and the name of the folder of its evidence.
	SubmissionID string
	// Nonce is a random hexadecimal text, new for each run.
	Nonce string
	// Attempt is 1 or more.
	Attempt int
	// WorldSize is the number of ranks: Nodes times GPUsPerNode.
	WorldSize, Nodes, GPUsPerNode int
	// DeadlineSeconds is when the job ends itself; 0 for never.
	DeadlineSeconds int
}

// Environment returns the run's environment variables, as CONTRACT.md explains them. None is a
// secret: Ray shows them.
func (r Run) Environment() (map[string]string, error) {
	values := map[string]any{
		"worldSize": r.WorldSize, "nodes": r.Nodes, "gpusPerNode": r.GPUsPerNode,
	}
	for _, option := range r.Config.Options() {
		values[option.Name] = option.Value
	}
	config, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the job's configuration: %w", err)
	}
	environment := map[string]string{
		"RAYTRAIN_SUBMISSION_ID": r.SubmissionID,
		"RAYTRAIN_NONCE":         r.Nonce,
		"RAYTRAIN_ATTEMPT":       strconv.Itoa(r.Attempt),
		"RAYTRAIN_CONFIG":        string(config),
		// By default Ray shows equal lines of several ranks once, and colors them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	if r.DeadlineSeconds > 0 {
		environment["RAYTRAIN_DEADLINE_SECONDS"] = strconv.Itoa(r.DeadlineSeconds)
	}
	return environment, nil
}
