package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// drainTime is how long the output of a command that has ended may still be
// read: what is in the pipes, or from a child that it left behind.
const drainTime = 10 * time.Second

// errContainerEnded is what a session gets whose container ends under it.
var errContainerEnded = errors.New("the container has ended")

// execOptions describe one command to run beside a container's own.
type execOptions struct {
	command        podinit.Command
	stdin          io.Reader
	stdout, stderr io.Writer
	resize         <-chan unix.Winsize // a terminal's, if command.Terminal
}

// exec runs a command inside the container and returns its exit status.
func (p *process) exec(ctx context.Context, options execOptions) (int, error) {
	if options.command.Terminal {
		return p.execTerminal(ctx, options)
	}
	stdin, stdinWriter, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	stdout, stdoutChild, err := os.Pipe()
	if err != nil {
		closeFiles(stdin, stdinWriter)
		return 0, err
	}
	stderr, stderrChild, err := os.Pipe()
	if err != nil {
		closeFiles(stdin, stdinWriter, stdout, stdoutChild)
		return 0, err
	}
	defer closeFiles(stdinWriter, stdout, stderr)
	var output sync.WaitGroup
	output.Go(func() { copyOut(options.stdout, stdout) })
	output.Go(func() { copyOut(options.stderr, stderr) })
	go copyIn(stdinWriter, options.stdin)
	code, err := p.session(ctx, options.command, [3]*os.File{stdin, stdoutChild, stderrChild})
	waitFor(&output, drainTime)
	return code, err
}

// execTerminal is exec on a pseudo-terminal, which merges the two outputs.
func (p *process) execTerminal(ctx context.Context, options execOptions) (int, error) {
	terminal, child, err := openTerminal()
	if err != nil {
		return 0, err
	}
	defer closeFiles(terminal)
	go func() {
		for size := range options.resize {
			_ = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &size)
		}
	}()
	var output sync.WaitGroup
	output.Go(func() { copyOut(options.stdout, terminal) })
	if options.stdin != nil {
		go func() { _, _ = io.Copy(terminal, options.stdin) }()
	}
	again, err := duplicate(child, 2)
	if err != nil {
		closeFiles(child)
		return 0, err
	}
	code, err := p.session(ctx, options.command, [3]*os.File{child, again[0], again[1]})
	waitFor(&output, drainTime)
	return code, err
}

// session sends the request with its descriptors, which it closes, and waits
// for the result.
func (p *process) session(
	ctx context.Context, command podinit.Command, stdio [3]*os.File,
) (int, error) {
	p.mu.Lock()
	p.nextID++
	id := p.nextID
	result := make(chan podinit.ExecResult, 1)
	p.sessions[id] = result
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.sessions, id)
		p.mu.Unlock()
	}()
	err := p.send(podinit.ExecRequest{ID: id, Command: command}, stdio[:])
	closeFiles(stdio[:]...)
	if err != nil {
		return 0, err
	}
	select {
	case r := <-result:
		if r.Error != "" {
			return r.Code, errors.New(r.Error)
		}
		return r.Code, nil
	case <-p.done:
		return 128 + int(unix.SIGKILL), errContainerEnded
	case <-ctx.Done():
		_ = p.send(podinit.ExecRequest{ID: id, Kill: true}, nil) // the container may have ended meanwhile
		return 128 + int(unix.SIGKILL), ctx.Err()
	}
}

func (p *process) send(request podinit.ExecRequest, stdio []*os.File) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var rights []byte
	if len(stdio) > 0 {
		var descriptors []int
		for _, file := range stdio {
			descriptors = append(descriptors, int(file.Fd()))
		}
		rights = unix.UnixRights(descriptors...)
	}
	connection, err := p.control.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	if err := connection.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), data, rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(sendErr, unix.EAGAIN)
	}); err != nil {
		return fmt.Errorf("%w: %w", errContainerEnded, err)
	}
	if sendErr != nil {
		return fmt.Errorf("asking the container's init to run a command: %w", sendErr)
	}
	return nil
}

// receiveResults hands results to their sessions until the init is gone.
func (p *process) receiveResults() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := p.control.Read(buffer)
		if err != nil || n == 0 {
			return
		}
		var result podinit.ExecResult
		if json.Unmarshal(buffer[:n], &result) != nil {
			continue
		}
		p.mu.Lock()
		if session, ok := p.sessions[result.ID]; ok {
			session <- result
			delete(p.sessions, result.ID)
		}
		p.mu.Unlock()
	}
}

// openTerminal makes a pseudo-terminal; the child's end needs no name, so it
// works across mount namespaces.
func openTerminal() (ours, child *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		closeFiles(ours)
		return nil, nil, fmt.Errorf("unlocking a terminal: %w", err)
	}
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, ours.Fd(), unix.TIOCGPTPEER, flags)
	if errno != 0 {
		closeFiles(ours)
		return nil, nil, fmt.Errorf("opening a terminal's other end: %w", errno)
	}
	return ours, os.NewFile(peer, "terminal"), nil
}

func duplicate(file *os.File, times int) ([]*os.File, error) {
	var copies []*os.File
	for range times {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeFiles(copies...)
			return nil, fmt.Errorf("duplicating a descriptor: %w", err)
		}
		copies = append(copies, os.NewFile(uintptr(fd), file.Name()))
	}
	return copies, nil
}

// copyOut reads a command's output to its end even if no client takes it, so that a full pipe does
// not block or end the command.
func copyOut(to io.Writer, from io.Reader) {
	if to != nil {
		if _, err := io.Copy(to, from); err == nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

func copyIn(to io.WriteCloser, from io.Reader) {
	if from != nil {
		_, _ = io.Copy(to, from)
	}
	_ = to.Close()
}

func waitFor(group *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
