package rehearsal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// lock acquires the lock of the rehearsal in dir, so that only one command changes it at a time.
// The lock is released when the process ends or the returned file is closed.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the rehearsal's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = holder(file, dir)
		}
		return nil, errors.Join(err, file.Close())
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the rehearsal's lock: %w", err), file.Close())
	}
	return file, nil
}

// holder returns an error with the id of the process that holds the lock.
func holder(file *os.File, dir string) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the rehearsal's lock: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("reading the rehearsal's lock: %w", err)
	}
	return engine.LockedError{Dir: dir, PID: pid}
}
