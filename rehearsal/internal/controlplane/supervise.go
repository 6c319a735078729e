package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	// restartLimit is how often a component is restarted within restartWindow. If it ends again
	// immediately, as on a full disk, the cause must be fixed first.
	restartLimit  = 3
	restartWindow = time.Minute
)

// Incident is the unexpected end of a component.
type Incident struct {
	// Component is the component that ended.
	Component string
	// Reason is why, in one line. Err adds the end of the component's log.
	Reason, Err error
	// Restarted reports whether the component was started again.
	Restarted bool
}

// launch starts a component, unless the control plane is stopping.
func (c *ControlPlane) launch(part component) (*process, error) {
	arguments := append([]string{part.name}, part.args...)
	if c.config.KubernetesVersion != "" && part.name != "etcd" {
		arguments = append(arguments, "--emulated-version=kube="+c.config.KubernetesVersion)
	}
	command := exec.Command(c.config.Tools.Binary, arguments...)
	command.Dir = c.config.Dir
	// The caller's environment must not change how a component behaves: etcd reads flags from it.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.config.Dir}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, errStopping
	}
	started, err := launch(part.name, c.LogPath(part.name), command)
	if err != nil {
		return nil, err
	}
	c.processes[part.name] = started
	return started, nil
}

// errStopping means that the control plane stops and starts no component.
var errStopping = errors.New("the control plane is stopping")

// supervise restarts a component that ends, and reports it, until the control plane stops.
func (c *ControlPlane) supervise(part component, running *process) {
	var restarts []time.Time
	for {
		<-running.ended
		incident := Incident{
			Component: part.name, Reason: running.reason(), Err: running.failure(),
		}
		for len(restarts) > 0 && time.Since(restarts[0]) > restartWindow {
			restarts = restarts[1:]
		}
		next, err := running, error(nil)
		if len(restarts) < restartLimit {
			restarts = append(restarts, time.Now())
			next, err = c.launch(part)
			incident.Restarted = err == nil
		}
		if c.isStopping() {
			return
		}
		if err != nil {
			incident.Err = errors.Join(incident.Err, fmt.Errorf("restarting it: %w", err))
		}
		c.config.Log.Error("control plane component ended", "component", part.name,
			"restarted", incident.Restarted, "error", incident.Err)
		c.config.Ended(incident)
		if !incident.Restarted {
			return
		}
		running = next
	}
}

// Freeze stops the API server without ending it, for a time: it accepts connections and does not
// respond.
func (c *ControlPlane) Freeze(ctx context.Context, duration time.Duration) error {
	c.mu.Lock()
	running := c.processes["kube-apiserver"]
	c.mu.Unlock()
	if running == nil {
		return fmt.Errorf("freezing the API server of %q: %w", c.config.ClusterName, errNotRunning)
	}
	if err := syscall.Kill(running.pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freezing the API server of %q: %w", c.config.ClusterName, err)
	}
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
	if err := syscall.Kill(running.pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continuing the API server of %q: %w", c.config.ClusterName, err)
	}
	return ctx.Err()
}

func (c *ControlPlane) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// Stop stops the components, the last started first. It kills those that do not end within a few
// seconds or before ctx ends. The data is kept. Stopping twice is not an error.
func (c *ControlPlane) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	var problems []error
	for _, stage := range slices.Backward(c.stages()) {
		for _, part := range slices.Backward(stage) {
			if running := c.processes[part.name]; running != nil {
				problems = append(problems, running.stop(ctx))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("stopping control plane %q: %w", c.config.ClusterName, err)
	}
	return nil
}
