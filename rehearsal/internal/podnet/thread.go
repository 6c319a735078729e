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

// threads are operating-system threads that do nothing but work inside network
// namespaces. Between jobs they stay in the network's own namespace.
//
// They never go back to where the program runs: from a user namespace, setns
// into the machine's own network namespace is refused. And they never end: the
// runtime hands a goroutine any thread, also one that has started a child with
// a parent-death signal, such as a control plane's etcd, and the kernel kills
// the child when that thread ends, not when the process does (prctl(2),
// PR_SET_PDEATHSIG).
type threads struct {
	mu     sync.Mutex
	home   *os.File // nil until the network's namespace is made
	idle   []chan func()
	closed bool
}

// errClosed is what a network that was closed answers.
var errClosed = errors.New("the network is closed")

// do runs work on one of the threads. What work makes of namespaces is undone
// afterwards; sockets that it creates stay where they were created.
func (t *threads) do(work func() error) error {
	jobs, err := t.take()
	if err != nil {
		return err
	}
	done := make(chan error)
	jobs <- func() {
		workErr := work()
		// The result is handed over once the thread is back, so that whoever
		// closes a namespace next finds it unused.
		back := t.goHome()
		if back == nil {
			t.give(jobs)
		}
		done <- errors.Join(workErr, back)
		if back != nil {
			select {} // a thread that is lost must neither work on nor end
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

// serve does jobs on a thread of its own until there are no more to come.
func serve(jobs chan func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread stands for the process in /proc: it stays where the
		// program runs. While it is held here, the next one is another.
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
	// Leaving the network's namespace lets the kernel take it apart.
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

// close dismisses the threads; those at work follow when they are done.
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

// newNamespace makes an empty network namespace and returns the file that
// keeps it alive.
func (t *threads) newNamespace() (*os.File, error) {
	var file *os.File
	err := t.do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("creating a network namespace (it takes root or a user namespace): %w", err)
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

// dial connects from inside the namespace. The address must be a literal IP and
// port: names would be resolved by the host's resolver.
func (t *threads) dial(ctx context.Context, namespace *os.File, network, address string) (net.Conn, error) {
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
