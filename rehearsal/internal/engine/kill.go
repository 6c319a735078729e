package engine

import (
	"errors"
	"fmt"
	"syscall"
)

// Kill kills the engine that updates the stack, and its plugins, as a power failure would.
func (e *Engine) Kill() error {
	owners, err := lockOwners(e.dir)
	if err != nil {
		return err
	}
	for _, pid := range owners {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing the engine %d: %w", pid, err)
		}
	}
	return KillOrphans(e.dir)
}
