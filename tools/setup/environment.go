package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// environment is where a recipe's steps work.
type environment struct {
	ctx context.Context
	// out is the part's folder in the cache, source the folder with what it is made from.
	out, source string
	log         io.Writer
}

// run runs a command in the source folder and logs what it prints.
func (e environment) run(argv []string) error {
	fmt.Fprintf(e.log, "$ %s\n", strings.Join(argv, " "))
	command := commandIn(e.ctx, e.source, argv)
	command.Stdout, command.Stderr = e.log, e.log
	if err := command.Run(); err != nil {
		if e.ctx.Err() != nil {
			return fmt.Errorf("running %s: %w", argv[0], context.Cause(e.ctx))
		}
		return fmt.Errorf("running %s: %w", argv[0], err)
	}
	return nil
}

// moduleFolder returns where Go keeps the source of a module that the source folder's go.mod
// requires.
func (e environment) moduleFolder(module string) (string, error) {
	var out bytes.Buffer
	command := commandIn(e.ctx, e.source, []string{"go", "list", "-m", "-f", "{{.Dir}}", module})
	command.Stdout, command.Stderr = &out, e.log
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("asking Go where %s is: %w", module, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// commandIn prepares a command that ends, with all that it started, when ctx does.
func commandIn(ctx context.Context, folder string, argv []string) *exec.Cmd {
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir = folder
	// A workspace of the user must not mix the versions of the tool modules.
	command.Env = append(os.Environ(), "GOWORK=off")
	// A new process group, so that compilers and installers started by it end, too.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 5 * time.Second
	return command
}
