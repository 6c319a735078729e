package podnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// threads are operating-system threads that only work inside network namespaces. Between jobs they
// stay in the network's own namespace.
//
// They never return to the namespace of the program: the kernel refuses setns into the machine's
// own network namespace from a user namespace. They never end either. The runtime may run a
// goroutine on a thread that has started a child with a parent-death signal, such as a control
// plane's etcd, and the kernel kills the child when that thread ends, not when the process does
// (prctl(2), PR_SET_PDEATHSIG).
type threads struct {
	mu     sync.Mutex
	home   *os.File // nil until the network's namespace is made
	idle   []chan func()
	closed bool
}

// errClosed is the error of a closed network.
var errClosed = errors.New("the network is closed")

// do runs work on one of the threads, which then returns to its namespace. Sockets that work
// creates stay in the namespace where they were created.
func (t *threads) do(work func() error) error {
	jobs, err := t.take()
	if err != nil {
		return err
	}
	done := make(chan error)
	jobs <- func() {
		workErr := work()
		// The result is sent once the thread has returned, so that the caller can close an unused
		// namespace.
		back := t.goHome()
		if back == nil {
			t.give(jobs)
		}
		done <- errors.Join(workErr, back)
		if back != nil {
			select {} // a lost thread must neither work nor end
		}
	}
	return <-done
}

func (t *threads) take() (chan func(), error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if n := len(t.idle); n > 0 {
		jobs := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return jobs, nil
	}
	jobs := make(chan func())
	go serve(jobs)
	return jobs, nil
}

// serve runs jobs on a thread of its own until the channel is closed.
func serve(jobs chan func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread is the process in /proc and must stay in the program's namespace. While
		// it is locked here, the new goroutine runs on another thread.
		begun := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(begun)
			serve(jobs)
		}()
		<-begun
		runtime.UnlockOSThread()
		return
	}
	for job := range jobs {
		job()
	}
	// Leaving the network's namespace lets the kernel remove it.
	_ = unix.Unshare(unix.CLONE_NEWNET)
	select {}
}

func (t *threads) give(jobs chan func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		close(jobs)
		return
	}
	t.idle = append(t.idle, jobs)
}

func (t *threads) goHome() error {
	if t.home == nil {
		return nil
	}
	if err := unix.Setns(int(t.home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("returning to the VPC's network namespace: %w", err)
	}
	return nil
}

// close releases the threads. Those at work follow when they are done.
func (t *threads) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, jobs := range t.idle {
		close(jobs)
	}
	t.idle = nil
}

// newNamespace creates an empty network namespace and returns the file that keeps it alive.
func (t *threads) newNamespace() (*os.File, error) {
	var file *os.File
	err := t.do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("creating a network namespace, which needs root or a user namespace: %w", err)
		}
		var err error
		file, err = os.Open("/proc/thread-self/ns/net")
		if err == nil && t.home == nil {
			t.home = file // before any other thread exists
		}
		return err
	})
	return file, err
}

// inside runs work on a thread inside the namespace.
func (t *threads) inside(namespace *os.File, work func() error) error {
	return t.do(func() error {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering network namespace: %w", err)
		}
		return work()
	})
}

// dial connects from inside the namespace. The address must be a literal IP and port: names would
// be resolved by the host's resolver.
func (t *threads) dial(
	ctx context.Context, namespace *os.File, network, address string) (net.Conn, error,
) {
	var conn net.Conn
	err := t.inside(namespace, func() error {
		var dialer net.Dialer
		var err error
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// listen opens a stream listener inside the namespace.
func (t *threads) listen(namespace *os.File, network, address string) (net.Listener, error) {
	var listener net.Listener
	err := t.inside(namespace, func() error {
		var err error
		listener, err = net.Listen(network, address)
		return err
	})
	return listener, err
}
