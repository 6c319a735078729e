package forward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

// ErrRemote wraps the node's error about a connection that it could not make or keep, such as
// "connection refused".
var ErrRemote = errors.New("the node could not forward")

// conn is one forwarded connection with its own tunnel.
type conn struct {
	tunnel httpstream.Connection
	data   httpstream.Stream
	// remote returns the node's error, once, and is then closed.
	remote chan error
	close  sync.Once
}

func newConn(tunnel httpstream.Connection, port int) (*conn, error) {
	complaints, err := tunnel.CreateStream(headers(corev1.StreamTypeError, port))
	if err != nil {
		return nil, fmt.Errorf("opening the error stream: %w", err)
	}
	// Nothing is written to it, and the node waits until this half is closed.
	if err := complaints.Close(); err != nil {
		return nil, fmt.Errorf("closing our half of the error stream: %w", err)
	}
	c := &conn{tunnel: tunnel, remote: make(chan error, 1)}
	go func() {
		defer close(c.remote)
		text, err := io.ReadAll(complaints)
		if err == nil && len(text) > 0 {
			c.remote <- fmt.Errorf("%w: %s", ErrRemote, text)
		}
	}()
	// A node that cannot connect may close the tunnel before this stream is open.
	c.data, err = tunnel.CreateStream(headers(corev1.StreamTypeData, port))
	if err != nil {
		return nil, c.reason(fmt.Errorf("opening the data stream: %w", err))
	}
	return c, nil
}

// errorDelay is how long the end of the data waits for its reason, which comes on another stream.
const errorDelay = 200 * time.Millisecond

// reason returns the node's error if there is one, else the local one.
func (c *conn) reason(seen error) error {
	select {
	case complaint := <-c.remote:
		if complaint != nil {
			return complaint
		}
	case <-time.After(errorDelay):
	}
	return seen
}

// Read reads from the pod. When the node reports an error, the end of the data is that error.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if err != nil {
		err = c.reason(err)
	}
	return n, err
}

// Write writes to the pod.
func (c *conn) Write(p []byte) (int, error) { return c.data.Write(p) }

// Close ends the tunnel. Resetting first discards unsent data, which would block.
func (c *conn) Close() error {
	var err error
	c.close.Do(func() {
		_ = c.data.Reset() //nolint:errcheck // the tunnel ends next
		err = c.tunnel.Close()
	})
	return err
}

// LocalAddr and RemoteAddr are placeholders: the ends are a process here and a pod.
func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

// Deadlines are not supported by the streams; http.Transport sets none, and cancels by closing.
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

type addr struct{}

func (addr) Network() string { return "port-forward" }
func (addr) String() string  { return "pod" }
