package nodeagent

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// forwardDialTimeout bounds the connection of a port-forward to the pod's port.
const forwardDialTimeout = 10 * time.Second

// ExecInContainer runs a command in a container for an exec session.
func (w *worker) ExecInContainer(ctx context.Context, _, _, container string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	run, err := w.runOf(container)
	if err != nil {
		return err
	}
	env := run.env
	if tty {
		env = append([]string{"TERM=xterm"}, env...)
	}
	code, err := run.process.exec(ctx, execOptions{
		command: podinit.Command{Argv: cmd, Env: env, Dir: run.dir, Terminal: tty},
		stdin:   in, stdout: orNil(out), stderr: orNil(errOut),
		resize: sizes(ctx, resize),
	})
	if err != nil {
		return err
	}
	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

// orNil keeps a nil stream from becoming an interface that is not nil.
func orNil(stream io.WriteCloser) io.Writer {
	if stream == nil {
		return nil
	}
	return stream
}

// sizes translates a terminal's sizes until the session ends.
func sizes(ctx context.Context, resize <-chan remotecommand.TerminalSize) <-chan unix.Winsize {
	out := make(chan unix.Winsize)
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case size, ok := <-resize:
				if !ok {
					return
				}
				select {
				case out <- unix.Winsize{Col: size.Width, Row: size.Height}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// AttachContainer follows a container's output from now on. Its input is not
// rehearsed: containers have none.
func (w *worker) AttachContainer(ctx context.Context, _, _, container string, _ io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	path, live, err := w.log(container, false)
	if err != nil {
		return err
	}
	// The log holds both streams in one order, so one reader serves both.
	sink := attachSink{out: orNil(out), err: orNil(errOut)}
	return followStreams(ctx, path, live, sink)
}

type attachSink struct{ out, err io.Writer }

func (s attachSink) write(line logLine) error {
	to := s.out
	if line.stream == stderrStream && s.err != nil {
		to = s.err
	}
	if to == nil {
		return nil
	}
	_, err := io.WriteString(to, line.text)
	return err
}

// PortForward connects a stream to a port of the pod, as seen on the pod's own
// loopback.
func (w *worker) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	network, err := w.network(ctx)
	if err != nil {
		return err
	}
	dialing, cancel := context.WithTimeout(ctx, forwardDialTimeout)
	defer cancel()
	target := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	conn, err := network.DialContext(dialing, "tcp", target)
	if err != nil {
		return fmt.Errorf("connecting to port %d of pod %q: %w", port, w.name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// How a connection ends is between its two ends: a client that has read
	// enough closes it, and what the pod still writes then has nowhere to go.
	_ = podnet.Splice(conn, stream)
	return nil
}
