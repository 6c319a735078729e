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

// LockedError means that another process is using the same rehearsal.
type LockedError struct {
	// Dir is the rehearsal's folder.
	Dir string
	// PID is the id of the other process.
	PID int
}

func (e LockedError) Error() string {
	return fmt.Sprintf("another command (process %d) is using %s; next: wait until it ends", e.PID, e.Dir)
}

// CheckLock returns a LockedError if an engine is updating the stack in dir. The engine's own
// message recommends `pulumi cancel`, which breaks the other update.
func CheckLock(dir string) error {
	owners, err := lockOwners(dir)
	if err != nil {
		return err
	}
	for _, pid := range owners {
		if runs(pid) {
			return LockedError{Dir: dir, PID: pid}
		}
	}
	return nil
}

// releaseStaleLock releases the stack's lock if its engine was killed, so that it does not block
// the next update.
func releaseStaleLock(ctx context.Context, stack auto.Stack, dir string) error {
	owners, err := lockOwners(dir)
	if err != nil || len(owners) == 0 {
		return err
	}
	if err := CheckLock(dir); err != nil {
		return err
	}
	if err := stack.Cancel(ctx); err != nil {
		return fmt.Errorf("releasing the lock of stack %q, whose engine was killed: %w", StackName,
			plain(err))
	}
	return nil
}

// lockOwners returns the processes that hold locks of the stack in dir. The form of the files is
// that of Pulumi's file backend (pkg/backend/diy/lock.go).
func lockOwners(dir string) ([]int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "backend", ".pulumi", "locks", "*", ProjectName,
		StackName, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing the locks of stack %q: %w", StackName, err)
	}
	var owners []int
	for _, file := range files {
		body, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // its engine has just ended
		}
		if err != nil {
			return nil, fmt.Errorf("reading a lock of stack %q: %w", StackName, err)
		}
		var lock struct {
			PID int `json:"pid"`
		}
		if err := json.Unmarshal(body, &lock); err != nil {
			return nil, fmt.Errorf("decoding the lock %q: %w: remove the file if no update of this rehearsal runs", file, err)
		}
		owners = append(owners, lock.PID)
	}
	return owners, nil
}

// runs reports whether the process is running.
func runs(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
