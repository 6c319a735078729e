package podnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// dialTimeout bounds how long a pod's connection waits for the real listener. That is on this
// machine's loopback, and so answers at once or not at all.
const dialTimeout = 5 * time.Second

// Proxy forwards TCP connections from inside the VPC to a listener of the root network namespace:
// pods reach the API server, which listens on 127.0.0.1 only, through it. Inside is an address on
// the bridge, outside a literal loopback address. It returns once it listens, and stops when ctx
// ends.
func (n *Network) Proxy(ctx context.Context, inside, outside string) error {
	listener, err := n.Listen(inside)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go serveProxy(ctx, listener, outside)
	return nil
}

func serveProxy(ctx context.Context, listener net.Listener, outside string) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Most likely there are no file descriptors left: wait.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			dialer := net.Dialer{Timeout: dialTimeout}
			target, err := dialer.DialContext(ctx, "tcp", outside)
			if err != nil {
				_ = conn.Close() // the pod sees a closed connection, as from a server that is down
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close(); _ = target.Close() })
			defer stop()
			_ = Splice(conn, target)
		}()
	}
}

// Splice copies both ways until both sides are done, passing half-closes on, and closes both
// connections.
func Splice(a, b io.ReadWriteCloser) error {
	var group sync.WaitGroup
	var first, second error
	group.Go(func() { first = copyAndCloseWrite(a, b) })
	group.Go(func() { second = copyAndCloseWrite(b, a) })
	group.Wait()
	closing := errors.Join(a.Close(), b.Close())
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("copying between connections: %w", err)
	}
	if errors.Is(closing, net.ErrClosed) {
		return nil
	}
	return closing
}

func copyAndCloseWrite(dst io.WriteCloser, src io.Reader) error {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return err
	}
	_ = dst.Close()
	return err
}
