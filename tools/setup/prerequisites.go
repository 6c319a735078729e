package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const (
	// minimumNode is the oldest Node.js that the EKS component provider was seen to run on.
	minimumNode = 20
	// minimumPython is the oldest minor version of Python 3 that the pinned Ray supports.
	minimumPython = 10
	// wantedSpace is what a cold set-up writes into the cache, with room for what the installers
	// unpack beside it.
	wantedSpace = 10 << 30
)

// machine is what the checks look at; tests give another one.
type machine struct {
	system string
	// find looks a program up on the PATH.
	find func(program string) (string, error)
	// output runs a command and returns what it prints.
	output func(argv ...string) (string, error)
	// isolate tries to run a process in new namespaces, as a rehearsal runs its pods.
	isolate func() error
	// space returns how many bytes are free for the cache.
	space func() (uint64, error)
}

// thisMachine returns the machine that the program runs on; cacheDir exists.
func thisMachine(cacheDir string) machine {
	return machine{
		system: runtime.GOOS,
		find:   exec.LookPath,
		output: func(argv ...string) (string, error) {
			out, err := exec.Command(argv[0], argv[1:]...).Output()
			return strings.TrimSpace(string(out)), err
		},
		isolate: isolate,
		space: func() (uint64, error) {
			var stat syscall.Statfs_t
			if err := syscall.Statfs(cacheDir, &stat); err != nil {
				return 0, fmt.Errorf("asking for free space: %w", err)
			}
			return stat.Bavail * uint64(stat.Bsize), nil
		},
	}
}

// isolate tries the namespaces that pods of a rehearsal get; who is not root needs a user namespace
// for it.
func isolate() error {
	command := exec.Command("true")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return command.Run()
}

// missing returns one line for each thing that set-up or a rehearsal needs and that the machine
// lacks. needSpace says that something is to be built.
func (m machine) missing(needSpace bool) []string {
	if m.system != "linux" {
		return []string{fmt.Sprintf("Linux: a rehearsal isolates its pods by Linux namespaces, and this is %s", m.system)}
	}
	var lines []string
	for _, program := range []struct{ name, why string }{
		{"go", "Go 1.26 or later, https://go.dev/dl"},
		{"git", "git: Go and npm use it to fetch sources"},
		{"make", "make: it runs the targets of the Makefile"},
		{"npm", "npm, which comes with Node.js: it installs Pulumi's EKS component"},
		{"ip", "ip, from the package iproute2: a rehearsal sets up the network of its pods with it"},
	} {
		if _, err := m.find(program.name); err != nil {
			lines = append(lines, program.why)
		}
	}
	if line := m.compiler(); line != "" {
		lines = append(lines, line)
	}
	if line := m.nodeJS(); line != "" {
		lines = append(lines, line)
	}
	if line := m.pythonVenv(); line != "" {
		lines = append(lines, line)
	}
	if err := m.isolate(); err != nil {
		lines = append(lines, fmt.Sprintf("root, or unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0): isolating a process: %v", err))
	}
	if needSpace {
		if free, err := m.space(); err != nil || free < wantedSpace {
			lines = append(lines, spaceLine(free, err))
		}
	}
	return lines
}

func (m machine) compiler() string {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if _, err := m.find(name); err == nil {
			return ""
		}
	}
	return "a C compiler, such as gcc: Go uses it for the parts that call C"
}

func (m machine) nodeJS() string {
	const needed = "Node.js 20 or later, as node on the PATH"
	version, err := m.output("node", "--version")
	if err != nil {
		return needed
	}
	major, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(version, "v"), ".", 2)[0])
	if err != nil || major < minimumNode {
		return fmt.Sprintf("%s: node is %q", needed, version)
	}
	return ""
}

func (m machine) pythonVenv() string {
	version, err := m.output("python3", "-c", "import sys; print(*sys.version_info[:2])")
	if err != nil {
		return "Python 3.10 or later, as python3 on the PATH"
	}
	var major, minor int
	if _, err := fmt.Sscan(version, &major, &minor); err != nil || major != 3 || minor < minimumPython {
		return fmt.Sprintf("Python 3.10 or later: python3 is %q", strings.ReplaceAll(version, " ", "."))
	}
	if _, err := m.output("python3", "-c", "import venv, ensurepip"); err != nil {
		return "Python's venv and ensurepip, on Debian in the package python3-venv"
	}
	return ""
}

func spaceLine(free uint64, err error) string {
	if err != nil {
		return fmt.Sprintf("disk space for the cache: %v", err)
	}
	return fmt.Sprintf("%d GiB of disk space for the cache (%d GiB are free; XDG_CACHE_HOME moves it)", wantedSpace>>30, free>>30)
}

// errMissing means that the machine lacks something; the lines say what.
var errMissing = errors.New("nothing was built")

// check refuses a machine that lacks something.
func (m machine) check(needSpace bool) error {
	lines := m.missing(needSpace)
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("missing: %s\n%w; install what is missing and run make setup again", strings.Join(lines, "\nmissing: "), errMissing)
}
