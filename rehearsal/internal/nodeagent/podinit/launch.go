package podinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// launch starts a command in a session of its own and returns its process id.
func launch(command Command, stdio [3]*os.File) (int, error) {
	if len(command.Argv) == 0 {
		return 0, errors.New("no command: neither the pod nor the image names one")
	}
	program, err := lookPath(command.Argv[0], command.Env)
	if err != nil {
		return 0, err
	}
	dir := command.Dir
	if dir == "" {
		dir = "/"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("making working directory: %w", err)
	}
	pid, err := syscall.ForkExec(program, command.Argv, &syscall.ProcAttr{
		Dir:   dir,
		Env:   command.Env,
		Files: []uintptr{stdio[0].Fd(), stdio[1].Fd(), stdio[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: command.Terminal},
	})
	if err != nil {
		return 0, fmt.Errorf("exec: %q: %w", command.Argv[0], err)
	}
	prioritize(pid)
	return pid, nil
}

// priority is a nice value (nice(1)): a container gets most of the processors beside ordinary work,
// and the control plane still gets enough.
const priority = -10

// prioritize gives a command, and all that it will start, precedence over other work of this
// machine. Ray gives its processes 30 s to find each other (node.py and services.py of
// ray/_private, not configurable). That is ample on a machine of its own, but here three such machines may start
// beside a build.
//
// Only root may do so; elsewhere a container has no precedence.
func prioritize(pid int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, priority)
	// Where the kernel groups processes by session, a nice value counts within
	// the session only, and the session has one of its own (sched(7)).
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(priority)), 0o644)
}

// lookPath finds a program as a container runtime does: in the PATH of the container, not in the
// init's.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		candidate := filepath.Join(folder, name)
		info, err := os.Stat(candidate)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH", name)
}
