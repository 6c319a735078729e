package nodeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// forwardDialTimeout bounds the connection of a port-forward to the pod's port.
const forwardDialTimeout = 10 * time.Second

// The runtime answers requests for streams with a URL of the streaming server, which the kubelet
// passes on, and the streaming server calls the methods of streams below.

// Exec prepares a session.
func (r *containerRuntime) Exec(
	_ context.Context, request *cri.ExecRequest,
) (*cri.ExecResponse, error) {
	if _, err := r.running(request.GetContainerId()); err != nil {
		return nil, err
	}
	return r.streams.GetExec(request)
}

// Attach prepares a session.
func (r *containerRuntime) Attach(
	_ context.Context, request *cri.AttachRequest,
) (*cri.AttachResponse, error) {
	if _, err := r.running(request.GetContainerId()); err != nil {
		return nil, err
	}
	return r.streams.GetAttach(request)
}

// PortForward prepares a session.
func (r *containerRuntime) PortForward(
	_ context.Context, request *cri.PortForwardRequest,
) (*cri.PortForwardResponse, error) {
	return r.streams.GetPortForward(request)
}

// ExecSync runs a command, such as a probe's, to its end.
func (r *containerRuntime) ExecSync(
	ctx context.Context, request *cri.ExecSyncRequest,
) (*cri.ExecSyncResponse, error) {
	c, err := r.running(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	if timeout := request.GetTimeout(); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(timeout)*time.Second)
		defer cancel()
	}
	var out, errOut boundedBuffer
	code, err := c.process.exec(ctx, execOptions{
		command: podinit.Command{
			Argv: request.GetCmd(), Env: c.spec.Command.Env, Dir: c.spec.Command.Dir,
		},
		stdout: &out, stderr: &errOut,
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, status.Errorf(codes.DeadlineExceeded, "command %q timed out after %d s",
			request.GetCmd(), request.GetTimeout())
	}
	if err != nil {
		return nil, err
	}
	return &cri.ExecSyncResponse{
		Stdout: out.bytes(), Stderr: errOut.bytes(), ExitCode: int32(code),
	}, nil
}

// boundedBuffer keeps the beginning of an output.
type boundedBuffer struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	const longest = 1 << 20
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept.Write(p[:min(len(p), longest-b.kept.Len())])
	return len(p), nil
}

func (b *boundedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.kept.Bytes())
}

// streams does what the streaming server asks for.
type streams struct{ runtime *containerRuntime }

var _ streaming.Runtime = streams{}

// Exec runs a command in a container for a session.
func (s streams) Exec(
	ctx context.Context, id string, cmd []string, in io.Reader, out, errOut io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize,
) error {
	c, err := s.runtime.running(id)
	if err != nil {
		return err
	}
	env := c.spec.Command.Env
	if tty {
		env = append([]string{"TERM=xterm"}, env...)
	}
	code, err := c.process.exec(ctx, execOptions{
		command: podinit.Command{Argv: cmd, Env: env, Dir: c.spec.Command.Dir, Terminal: tty},
		stdin:   in, stdout: orNil(out), stderr: orNil(errOut),
		resize: sizes(ctx, resize),
	})
	if err != nil {
		return err
	}
	if code != 0 {
		err := fmt.Errorf("command terminated with exit code %d", code)
		return utilexec.CodeExitError{Err: err, Code: code}
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

// Attach follows a container's output from now on. Containers have no input.
func (s streams) Attach(
	ctx context.Context, id string, _ io.Reader, out, errOut io.WriteCloser,
	_ bool, _ <-chan remotecommand.TerminalSize,
) error {
	c, err := s.runtime.running(id)
	if err != nil {
		return err
	}
	process := c.process
	stop := process.log.follow(func(stream string, line []byte) {
		to := orNil(out)
		if stream == stderrStream && errOut != nil {
			to = errOut
		}
		if to != nil {
			_, _ = to.Write(line) // a client that went away ends the session
		}
	})
	defer stop()
	select {
	case <-process.done:
	case <-ctx.Done():
	}
	return nil
}

// PortForward connects a stream to a port of the pod, as seen on the pod's own loopback.
func (s streams) PortForward(
	ctx context.Context, id string, port int32, stream io.ReadWriteCloser,
) error {
	s.runtime.mu.Lock()
	pod := s.runtime.sandboxes[id]
	var network *podnet.Sandbox
	if pod != nil {
		network = pod.network
	}
	s.runtime.mu.Unlock()
	if network == nil {
		return errors.New("the pod has no network")
	}
	dialing, cancel := context.WithTimeout(ctx, forwardDialTimeout)
	defer cancel()
	target := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	conn, err := network.DialContext(dialing, "tcp", target)
	if err != nil {
		return fmt.Errorf("connecting to port %d: %w", port, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// An error here only says which end closed first: a client may have read enough.
	_ = s.runtime.config.Splice(ctx, int(port), stream, conn)
	return nil
}
