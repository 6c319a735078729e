package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
)

// ErrPartLost means that a process of the rehearsal ended during a step and could not be restarted.
var ErrPartLost = errors.New("a part of the rehearsal was lost")

// watchInterval is the polling interval for the rehearsal's processes.
const watchInterval = 2 * time.Second

// partsDaemon is what watch needs of a daemon.
type partsDaemon interface {
	Status(ctx context.Context) (daemon.Status, error)
	Running() bool
}

var _ partsDaemon = (*daemon.Client)(nil)

// minFreeMiB is the free disk space that a step needs. Without it etcd, Ray and the engine fail
// with various errors.
const minFreeMiB = 32

// checkDisk returns an error if less than minFreeMiB are free on the disk of dir.
func checkDisk(dir string, minFreeMiB uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize) >> 20; free < minFreeMiB {
		return fmt.Errorf("%w on the disk of %s: %d MiB free, %d MiB required; "+
			"next: free disk space, then run the command again",
			unix.ENOSPC, dir, free, minFreeMiB)
	}
	return nil
}

// watch watches the daemon and its parts until ctx ends. If a part is lost, it cancels the step
// with the reason. The channel then receives one line for each part that was restarted.
func (r *Rehearsal) watch(ctx context.Context, cancel context.CancelCauseFunc) <-chan []string {
	result := make(chan []string, 1)
	go func() {
		var restarted []string
		disk := func() error { return checkDisk(r.options.Dir, minFreeMiB) }
		lost := watchParts(ctx, r.parts, disk, watchInterval,
			func(line string) { restarted = append(restarted, line) })
		if lost != nil {
			r.say("error: %s%s", rehearsedMark, lost)
			cancel(fmt.Errorf("%w: %w; next: run the command again (log: %s)",
				ErrPartLost, lost, filepath.Join(r.options.Dir, "daemon.log")))
		}
		result <- restarted
	}()
	return result
}

// watchParts reports each part that ended and was restarted. It returns an error for a part that
// was not restarted or a full disk, and nil when ctx ends.
func watchParts(ctx context.Context, parts partsDaemon, disk func() error, every time.Duration,
	restarted func(string)) error {
	seen := -1 // incidents before the step are not reported
	for {
		status, err := parts.Status(ctx)
		full := disk()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx explains the error
		case full != nil:
			return full
		case err != nil && !parts.Running():
			return errors.New("the rehearsal's daemon ended")
		case err != nil: // the daemon is busy
		case seen < 0:
			seen = len(status.Incidents)
		default:
			for _, incident := range status.Incidents[min(seen, len(status.Incidents)):] {
				if !incident.Restarted {
					return errors.New(incident.Text)
				}
				restarted(incident.Text + " (restarted)")
			}
			seen = len(status.Incidents)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}
