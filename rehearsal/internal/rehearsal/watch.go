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

// ErrPartLost is the cause when a part of the rehearsal itself ended during a step and could not be
// restarted. No step can succeed then.
var ErrPartLost = errors.New("a part of the rehearsal was lost")

// watchEvery is how often a step looks after the rehearsal's parts.
const watchEvery = 2 * time.Second

// partsDaemon is what watch needs of a daemon.
type partsDaemon interface {
	Status(ctx context.Context) (daemon.Status, error)
	Running() bool
}

var _ partsDaemon = (*daemon.Client)(nil)

// freeMiB is the disk space below which a step ends: etcd, Ray and the engine's state fail without
// space, each in a way of its own and some only after minutes.
const freeMiB = 32

// checkDisk returns an error when less than freeMiB are free on the disk of dir.
func checkDisk(dir string, freeMiB uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize) >> 20; free < freeMiB {
		return fmt.Errorf("%w on the disk of %s: %d MiB are free, %d are needed: free some",
			unix.ENOSPC, dir, free, freeMiB)
	}
	return nil
}

// watch looks after the daemon and what it runs until ctx ends. When a part is lost it cancels the
// step with the reason. The channel then receives what was restarted, a line each.
func (r *Rehearsal) watch(ctx context.Context, cancel context.CancelCauseFunc) <-chan []string {
	result := make(chan []string, 1)
	go func() {
		var restarted []string
		disk := func() error { return checkDisk(r.options.Dir, freeMiB) }
		lost := watchParts(ctx, r.parts, disk, watchEvery,
			func(line string) { restarted = append(restarted, line) })
		if lost != nil {
			r.say("error: %s%s", rehearsedMark, lost)
			cancel(fmt.Errorf("%w: %w: run the command again, which restarts it (log: %s)",
				ErrPartLost, lost, filepath.Join(r.options.Dir, "daemon.log")))
		}
		result <- restarted
	}()
	return result
}

// watchParts reports each part that ended and was restarted. It returns the end of a part that was
// not, or a full disk. It returns nil when ctx ends.
func watchParts(ctx context.Context, parts partsDaemon, disk func() error, every time.Duration,
	restarted func(string)) error {
	seen := -1 // incidents before the step are known
	for {
		status, err := parts.Status(ctx)
		full := disk()
		switch {
		case ctx.Err() != nil:
			return nil
		case full != nil:
			return full
		case err != nil && !parts.Running():
			return errors.New("the rehearsal's daemon ended")
		case err != nil: // it is busy
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
