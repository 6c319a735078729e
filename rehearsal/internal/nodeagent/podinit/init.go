package podinit

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// setupFailed is the init's exit status when the container could not be built;
// the report says why.
const setupFailed = 127

// MaybeRun turns the process into a container's init if it was started as one, and then does not
// return. Call it first in main.
func MaybeRun() {
	if len(os.Args) == 0 || os.Args[0] != Marker {
		return
	}
	// Namespaces and the root are properties of a thread until exec, so this one starts every command.
	runtime.LockOSThread()
	// The init does little and lives as long as the container.
	debug.SetGCPercent(20)
	os.Exit(run())
}

func run() int {
	report := os.NewFile(reportFD, "report")
	supervisor, err := start()
	answer := Report{}
	if err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(report).Encode(answer) // if the daemon is gone, this process ends, too
	_ = report.Close()
	if err != nil {
		return setupFailed
	}
	return supervisor.loop()
}

func start() (*supervisor, error) {
	for fd := specFD; fd <= netFD; fd++ {
		unix.CloseOnExec(fd)
	}
	var spec Spec
	input := os.NewFile(specFD, "spec")
	data, err := io.ReadAll(input)
	if err != nil {
		return nil, fmt.Errorf("reading the container's specification: %w", err)
	}
	_ = input.Close()
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, fmt.Errorf("parsing the container's specification: %w", err)
	}
	if err := unix.Setns(netFD, unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("entering the pod's network: %w", err)
	}
	_ = unix.Close(netFD)
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return nil, fmt.Errorf("setting the host name: %w", err)
	}
	if err := buildRoot(spec); err != nil {
		return nil, fmt.Errorf("building the container's root: %w", err)
	}
	s := newSupervisor()
	signal.Notify(s.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGCHLD)
	s.main, err = launch(spec.Command, [3]*os.File{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		return nil, err
	}
	// From here on only the command holds the log pipes, so that they end with the container's
	// processes. The init's own descriptors stay occupied, or the next file that is opened would
	// become standard output.
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return nil, err
		}
	}
	go s.receive(controlFD)
	return s, nil
}
