package daemon

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

// Status is the daemon's report on its services.
type Status struct {
	// ImageRepository is the training image's repository in the daemon's registry.
	ImageRepository string `json:"imageRepository"`
	// Digests holds the digest of each build of the training image.
	Digests map[images.Variant]string `json:"digests"`
	// ChartURL is the URL below which each chart has its repository.
	ChartURL string `json:"chartUrl"`
	// ChartVersions holds the only version of each chart.
	ChartVersions map[charts.Chart]string `json:"chartVersions"`
	// Incidents holds the parts that ended unexpectedly since the daemon's start, in order.
	Incidents []Incident `json:"incidents"`
}

// Client is a client of a running daemon.
type Client struct {
	// Endpoint holds the addresses of the daemon's APIs.
	Endpoint     Endpoint
	aws, control *client.Client
}

// Command is the name of the hidden command that Start runs.
const Command = "rehearsal-daemon"

// The time limits of a daemon's start, and of its stop with control planes and containers.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 40 * time.Second
	pollEvery    = 50 * time.Millisecond
)

// Connect returns a client of the daemon of the rehearsal in dir, and reports whether it responds.
func Connect(ctx context.Context, dir string) (*Client, bool, error) {
	endpoint, err := ReadEndpoint(dir)
	if err != nil || endpoint.PID == 0 {
		return nil, false, err
	}
	found := &Client{Endpoint: endpoint, aws: client.New(endpoint.AWS),
		control: client.New(endpoint.Control)}
	if _, err := found.Status(ctx); err != nil {
		return nil, false, nil //nolint:nilerr // a daemon that does not answer does not run
	}
	return found, true, nil
}

// Start connects to the daemon of the rehearsal in dir, and starts it first if none runs. The
// daemon is another process of this program, in its own session, so that it outlives the command
// that started it.
func Start(ctx context.Context, dir, root string, speed float64) (*Client, error) {
	if found, running, err := Connect(ctx, dir); err != nil || running {
		return found, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	logPath := filepath.Join(dir, "daemon.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the daemon's log: %w", err)
	}
	defer log.Close()
	command := exec.Command(self, Command, "--dir", dir, "--root", root, "--speed",
		fmt.Sprint(speed))
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = namespaces()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the rehearsal's daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	deadline := time.After(startTimeout)
	for {
		found, running, err := Connect(ctx, dir)
		if err != nil || running {
			return found, err
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("starting the rehearsal's daemon: it ended at once (%w): %s",
				err, tail(logPath))
		case <-deadline:
			return nil, fmt.Errorf("starting the rehearsal's daemon: no response after %s; see %q",
				startTimeout, logPath)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// namespaces puts the daemon into its own session and, if this user is not root, into a user
// namespace in which it is root: only root may create the namespaces that pods need.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return attr
}

// tail returns the end of a log, for an error message.
func tail(path string) string {
	const enough = 2000
	body, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(body[max(0, len(body)-enough):])
}

// Status returns the daemon's status.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := c.control.Call(ctx, http.MethodGet, "/status", nil, &status)
	return status, err
}

// Running reports whether the daemon's process runs.
func (c *Client) Running() bool { return syscall.Kill(c.Endpoint.PID, 0) == nil }

// Account returns a client of the emulated AWS account.
func (c *Client) Account() *client.Client { return c.aws }

// SetFaults replaces the account's faults.
func (c *Client) SetFaults(ctx context.Context, faults api.Faults) error {
	return c.aws.Call(ctx, http.MethodPost, api.PathFaults, faults, nil)
}

// Inventory returns the resources of the account.
func (c *Client) Inventory(ctx context.Context) (api.Inventory, error) {
	var inventory api.Inventory
	err := c.aws.Call(ctx, http.MethodGet, api.PathInventory, nil, &inventory)
	return inventory, err
}

// LoseCluster deletes a cluster, with all that runs in it, without Pulumi's knowledge.
func (c *Client) LoseCluster(ctx context.Context, name string) error {
	return c.aws.Call(ctx, http.MethodPost, "/lose-cluster/"+name, struct{}{}, nil)
}

// Stop stops the daemon and everything that it runs, and waits for it. The rehearsal's folder is
// kept.
func (c *Client) Stop(ctx context.Context) error {
	if err := c.control.Call(ctx, http.MethodPost, "/stop", struct{}{}, nil); err != nil {
		return fmt.Errorf("stopping the rehearsal's daemon: %w", err)
	}
	deadline := time.After(stopTimeout)
	for {
		if !c.Running() {
			return nil
		}
		select {
		case <-deadline:
			return fmt.Errorf("stopping the rehearsal's daemon: process %d still runs after %s",
				c.Endpoint.PID, stopTimeout)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}
