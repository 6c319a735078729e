package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// checkpointPoll is short, so that the run is still on when its first checkpoint is seen.
const checkpointPoll = 20 * time.Millisecond

// errNotKilled is wrapped when the run ended before a rank could be killed.
var errNotKilled = errors.New("the run ended before its first checkpoint, so no rank was killed")

// killRank kills the process of rank 1 once the run has a checkpoint.
func (c *cluster) killRank(ctx context.Context, id string, config train.Config) error {
	// Ray Train's controller writes this file when a checkpoint of all ranks is complete. A rank that
	// is killed earlier makes the run begin anew.
	snapshot := filepath.Join(config.StoragePath, config.RunName, "checkpoint_manager_snapshot.json")
	for {
		if _, err := os.Stat(snapshot); err == nil {
			break
		}
		if rayapi.Sleep(ctx, checkpointPoll) != nil {
			return errNotKilled
		}
	}
	for _, n := range c.nodes {
		text, err := os.ReadFile(filepath.Join(n.folder, "session_latest", "logs", "raytrain", id, "rank1.json"))
		if err != nil {
			continue // it is on another node
		}
		var manifest evidence.Manifest
		if err := json.Unmarshal(text, &manifest); err != nil {
			return fmt.Errorf("reading the manifest of rank 1: %w", err)
		}
		if err := syscall.Kill(manifest.PID, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing rank 1: %w", err)
		}
		return nil
	}
	return fmt.Errorf("killing rank 1: %w", os.ErrNotExist)
}
