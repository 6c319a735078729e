package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// releaseStaleLock releases the stack's lock when the engine that took it was
// killed: an update that dies must not keep the next one out. The lock of a
// process that lives stays, and the engine then refuses by itself.
func releaseStaleLock(ctx context.Context, stack auto.Stack, dir string) error {
	stale, err := lockIsStale(dir)
	if err != nil || !stale {
		return err
	}
	if err := stack.Cancel(ctx); err != nil {
		return fmt.Errorf("releasing the lock of stack %q, whose engine was killed: %w", StackName, err)
	}
	return nil
}

// lockIsStale says whether the backend in dir is locked by processes that are
// all gone. The form of the files is that of Pulumi's file backend
// (pkg/backend/diy/lock.go).
func lockIsStale(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "backend", ".pulumi", "locks", "*", ProjectName, StackName, "*.json"))
	if err != nil {
		return false, fmt.Errorf("listing the locks of stack %q: %w", StackName, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // its engine ended this moment
		}
		if err != nil {
			return false, fmt.Errorf("reading a lock of stack %q: %w", StackName, err)
		}
		var lock struct {
			PID int `json:"pid"`
		}
		if err := json.Unmarshal(body, &lock); err != nil {
			return false, fmt.Errorf("decoding the lock %q: %w; next: remove the file if no update of this rehearsal runs", file, err)
		}
		if lock.PID > 0 && !errors.Is(syscall.Kill(lock.PID, 0), syscall.ESRCH) {
			return false, nil
		}
	}
	return len(files) > 0, nil
}
