package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Pulumi runs the Pulumi CLI on one stack.
type Pulumi struct {
	// Project is the folder with Pulumi.yaml.
	Project string
	// Stack is the stack's name; "" means the selected one.
	Stack string
	// Out receives the CLI's progress.
	Out io.Writer
}

// Config returns a setting of the stack, or the project's default.
func (p Pulumi) Config(ctx context.Context, key string) (string, error) {
	out, err := p.output(ctx, nil, "config", "get", key)
	return strings.TrimSpace(string(out)), err
}

// StackName returns the name of the stack without organization and project.
func (p Pulumi) StackName(ctx context.Context) (string, error) {
	if p.Stack != "" {
		return p.Stack[strings.LastIndex(p.Stack, "/")+1:], nil
	}
	out, err := p.output(ctx, nil, "stack", "--show-name")
	return strings.TrimSpace(string(out)), err
}

// Export returns the stack's state.
func (p Pulumi) Export(ctx context.Context) (*State, error) {
	exported, err := p.ExportJSON(ctx)
	if err != nil {
		return nil, err
	}
	return ReadState(exported)
}

// ExportJSON returns the output of `pulumi stack export`.
func (p Pulumi) ExportJSON(ctx context.Context) ([]byte, error) {
	return p.output(ctx, nil, "stack", "export")
}

// output runs a command and returns its standard output.
func (p Pulumi) output(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	command := p.command(ctx, args)
	command.Stdin = bytes.NewReader(stdin)
	return run(command)
}

// change runs a command that changes the stack, and passes its progress on.
func (p Pulumi) change(ctx context.Context, operation string, targets []string) error {
	args := []string{operation, "--yes", "--skip-preview"}
	for _, urn := range targets {
		args = append(args, "--target", urn)
	}
	command := p.command(ctx, args)
	command.Stdout = p.Out
	_, err := run(command)
	return err
}

// command returns a command of the CLI. When ctx ends, it is interrupted once and then completes its
// step: if it were killed, or received Ctrl-C from the terminal as well, it would leave what recover
// must find.
func (p Pulumi) command(ctx context.Context, args []string) *exec.Cmd {
	if p.Stack != "" {
		args = append(args, "--stack", p.Stack)
	}
	command := exec.CommandContext(ctx, "pulumi", append(args, "--non-interactive")...)
	command.Dir = p.Project
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	return command
}

// run runs a program and returns its standard output, unless that goes elsewhere. The error has its
// standard error.
func run(command *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	if command.Stdout == nil {
		command.Stdout = &out
	}
	command.Stderr = &errs
	err := command.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	err = fmt.Errorf("running %q: %w", strings.Join(command.Args[:min(3, len(command.Args))], " "), err)
	if text := strings.TrimSpace(errs.String()); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w; next: install %s, or add its folder to the PATH", err, command.Args[0])
	}
	return out.Bytes(), err
}

// Cluster runs kubectl on an EKS cluster.
type Cluster struct {
	// Name and Region identify the cluster.
	Name, Region string
	// Dir is a folder for the kubeconfig.
	Dir string
}

// Object reports whether an object exists.
func (c Cluster) Object(ctx context.Context, kind, namespace, name string) (bool, error) {
	out, err := c.kubectl(ctx, namespace, "get", kind, name, "--ignore-not-found", "-o", "name")
	return strings.TrimSpace(out) != "", err
}

// Release returns Helm's statuses of a release's revisions. Helm keeps each revision in a Secret.
// Source: helm.sh/helm/v3/pkg/storage/driver, Secrets.
func (c Cluster) Release(ctx context.Context, namespace, name string) ([]string, error) {
	out, err := c.kubectl(ctx, namespace, "get", "secrets", "-l", "owner=helm,name="+name,
		"-o", "jsonpath={.items[*].metadata.labels.status}")
	return strings.Fields(out), err
}

func (c Cluster) kubectl(ctx context.Context, namespace string, args ...string) (string, error) {
	kubeconfig := filepath.Join(c.Dir, "kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		if _, err := run(exec.CommandContext(ctx, "aws", "eks", "update-kubeconfig", "--name", c.Name,
			"--region", c.Region, "--kubeconfig", kubeconfig)); err != nil {
			return "", err
		}
	}
	args = append(args, "--kubeconfig", kubeconfig, "--request-timeout", "20s")
	if namespace != "" {
		args = append(args, "--namespace", namespace)
	}
	out, err := run(exec.CommandContext(ctx, "kubectl", args...))
	return string(out), err
}
