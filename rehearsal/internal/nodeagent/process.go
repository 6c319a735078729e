package nodeagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// spawner starts every container from one thread that lives as long as the node. Children get
// SIGKILL when the thread that started them ends, which ties them to the daemon. An ordinary
// goroutine could run on any thread, and Go ends a thread whose goroutine ended while locked to it.
type spawner struct{ jobs chan func() }

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		// Unlocked, the thread goes on: it may have started other children before.
		defer runtime.UnlockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// close ends the use of the thread. What it started must have ended.
func (s *spawner) close() { close(s.jobs) }

func (s *spawner) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.jobs <- func() { done <- cmd.Start() }
	return <-done
}

// process is a running container: its init and the socket to talk to it.
type process struct {
	cmd  *exec.Cmd
	log  *logFile
	done chan struct{} // closed when everything inside has ended
	code int           // exit status, once done is closed

	control  *os.File
	mu       sync.Mutex
	nextID   int
	sessions map[int]chan podinit.ExecResult
}

// startProcess starts a container's init and waits until the init has started the container's
// command. Its error is the init's reason why that was not possible.
func (s *spawner) startProcess(
	spec podinit.Spec, network *os.File, log *logFile,
) (*process, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	defer pipes.closeChildEnds()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{podinit.Marker}
	cmd.Env = []string{} // the container must not see the daemon's
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.stdin, pipes.stdout.child, pipes.stderr.child
	cmd.ExtraFiles = []*os.File{pipes.spec.child, pipes.report.child, pipes.control.child, network}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS,
		Pdeathsig:  unix.SIGKILL,
		Setsid:     true, // Ctrl-C on the daemon's terminal is not for containers
	}
	if err := s.start(cmd); err != nil {
		pipes.closeOurEnds()
		return nil, fmt.Errorf("starting a container's init: %w", err)
	}
	pipes.closeChildEnds()
	p := &process{
		cmd: cmd, log: log, done: make(chan struct{}), control: pipes.control.ours,
		sessions: map[int]chan podinit.ExecResult{},
	}
	var streams sync.WaitGroup
	streams.Go(func() { log.pump(stdoutStream, pipes.stdout.ours) })
	streams.Go(func() { log.pump(stderrStream, pipes.stderr.ours) })
	go p.receiveResults()
	go func() {
		_ = cmd.Wait() // the status is read from ProcessState
		streams.Wait()
		pipes.closeOurEnds()
		p.code = exitCode(cmd.ProcessState)
		log.close()
		close(p.done)
	}()
	if err := handOver(spec, pipes); err != nil {
		p.signal(unix.SIGKILL)
		<-p.done
		return nil, err
	}
	return p, nil
}

// handOver writes the specification and reads the report.
func handOver(spec podinit.Spec, pipes *pipes) error {
	writeErr := json.NewEncoder(pipes.spec.ours).Encode(spec)
	writeErr = errors.Join(writeErr, pipes.spec.ours.Close())
	var report podinit.Report
	if err := json.NewDecoder(pipes.report.ours).Decode(&report); err != nil {
		return fmt.Errorf("container's init ended early: %w", errors.Join(err, writeErr))
	}
	if report.Error != "" {
		return errors.New(report.Error)
	}
	return nil
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// signal goes to the container's command, by way of its init, except for
// SIGKILL, which ends the init and so everything inside.
func (p *process) signal(number syscall.Signal) { _ = p.cmd.Process.Signal(number) }

// pipe is one channel between the agent and an init.
type pipe struct{ ours, child *os.File }

type pipes struct {
	stdin                                 *os.File
	stdout, stderr, spec, report, control pipe
}

func newPipes() (p *pipes, err error) {
	p = &pipes{}
	defer func() {
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
		}
	}()
	for _, out := range []*pipe{&p.stdout, &p.stderr, &p.report} {
		if out.ours, out.child, err = os.Pipe(); err != nil {
			return p, err
		}
	}
	if p.spec.child, p.spec.ours, err = os.Pipe(); err != nil {
		return p, err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return p, fmt.Errorf("making a control socket: %w", err)
	}
	// Non-blocking, our end is served by the runtime's poller instead of holding
	// a thread per container.
	if err := unix.SetNonblock(ends[0], true); err != nil {
		return p, err
	}
	p.control = pipe{
		ours: os.NewFile(uintptr(ends[0]), "control"), child: os.NewFile(uintptr(ends[1]), "control"),
	}
	if p.stdin, err = os.Open(os.DevNull); err != nil {
		return p, err
	}
	return p, nil
}

func (p *pipes) closeChildEnds() {
	closeFiles(p.stdin, p.stdout.child, p.stderr.child, p.spec.child, p.report.child, p.control.child)
}

func (p *pipes) closeOurEnds() {
	closeFiles(p.stdout.ours, p.stderr.ours, p.spec.ours, p.report.ours, p.control.ours)
}

// closeFiles closes what is open; closing twice is harmless.
func closeFiles(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}
