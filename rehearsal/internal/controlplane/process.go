package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a component may take to end by itself. The data is safe either way:
	// etcd writes ahead.
	stopGrace = 3 * time.Second
	// tailLines and tailBytes bound the part of a log that an error shows, so that it fits a
	// screen.
	tailLines, tailBytes = 12, 4096
)

// errNotRunning means that a component ended without being stopped.
var errNotRunning = errors.New("it ended unexpectedly")

// process is one running component.
type process struct {
	name    string
	logPath string
	// logStart is the log's size when this process started. Older lines belong to an earlier start.
	logStart int64
	pid      int
	ended    chan struct{}
	// result is what Wait returned. It may be read when ended is closed.
	result error
}

// launch starts command with its output appended to logPath.
func launch(name, logPath string, command *exec.Cmd) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the size of the log of %s: %w", name, err),
			log.Close())
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{
		// In its own process group it does not receive a terminal's Ctrl-C: the rehearsal stops
		// components in order.
		Setpgid: true,
		// The kernel kills the child when the rehearsal dies, even by SIGKILL.
		Pdeathsig: syscall.SIGKILL,
	}
	started := &process{name: name, logPath: logPath, logStart: info.Size(),
		ended: make(chan struct{})}
	result := make(chan error, 1)
	go func() {
		// Pdeathsig fires when the *thread* that forked ends, not the process, so this thread stays
		// until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		result <- err
		if err == nil {
			started.result = command.Wait()
		}
		close(started.ended)
	}()
	err = <-result
	// The child has its own handle by now.
	if err = errors.Join(err, log.Close()); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	started.pid = command.Process.Pid
	return started, nil
}

// running reports whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop asks the process to end, and kills it after stopGrace or when ctx ends.
func (p *process) stop(ctx context.Context) error {
	if !p.running() {
		return nil
	}
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("asking %s to end: %w", p.name, err)
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.ended:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

// reason returns why the process ended.
func (p *process) reason() error {
	if p.result == nil {
		return errNotRunning
	}
	return fmt.Errorf("%w: %w", errNotRunning, p.result)
}

// failure returns why the process ended, with the end of its log.
func (p *process) failure() error { return p.explain(p.reason()) }

// explain adds the process's name and the end of its log to an error. On a full disk the log
// contains a stack trace, which explains less than the cause.
func (p *process) explain(err error) error {
	tail, tailErr := p.tail()
	switch {
	case tailErr != nil:
		return errors.Join(fmt.Errorf("running %s: %w", p.name, err), tailErr)
	case strings.Contains(tail, syscall.ENOSPC.Error()):
		return fmt.Errorf("running %s: %w; next: free space on the disk of %s, then run the command again",
			p.name, syscall.ENOSPC, filepath.Dir(p.logPath))
	case tail == "":
		tail = "(nothing)"
	}
	return fmt.Errorf("running %s: %w; the end of its log %q:\n%s", p.name, err, p.logPath, tail)
}

// tail returns the last lines that this process logged.
func (p *process) tail() (string, error) {
	log, err := os.Open(p.logPath)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", p.name, err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the size of the log of %s: %w", p.name, err)
	}
	from := max(p.logStart, info.Size()-tailBytes)
	content, err := io.ReadAll(io.NewSectionReader(log, from, info.Size()-from))
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", p.name, err)
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}
