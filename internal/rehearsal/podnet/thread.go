package podnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onOwnThread runs work on an operating-system thread that nothing else will
// ever use: the goroutine ends locked, so the runtime throws the thread away
// together with whatever namespace it was moved into. Restoring a namespace
// can fail; a thread that is gone cannot leak one.
func onOwnThread(work func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- work()
	}()
	return <-done
}

// newNamespace makes an empty network namespace and returns the file that
// keeps it alive.
func newNamespace() (*os.File, error) {
	var file *os.File
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("creating a network namespace (it takes root or a user namespace): %w", err)
		}
		var err error
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// inNamespace runs work on a thread inside the namespace. Sockets that work
// creates stay in that namespace whichever thread uses them later.
func inNamespace(namespace *os.File, work func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering network namespace: %w", err)
		}
		return work()
	})
}

// dialInside connects from inside the namespace. The address must be a literal
// IP and port: names would be resolved by the host's resolver.
func dialInside(ctx context.Context, namespace *os.File, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := inNamespace(namespace, func() error {
		var dialer net.Dialer
		var err error
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// listenInside opens a stream listener inside the namespace.
func listenInside(namespace *os.File, network, address string) (net.Listener, error) {
	var listener net.Listener
	err := inNamespace(namespace, func() error {
		var err error
		listener, err = net.Listen(network, address)
		return err
	})
	return listener, err
}
