// Package localray starts a Ray cluster on this host: a head and several nodes, which Ray tells apart
// by their loopback addresses.
package localray

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Options configure a cluster.
type Options struct {
	// Python is an interpreter with Ray. It is also the jobs' command "python".
	Python string
	// Nodes is the number of nodes beside the head. Each declares one GPU to Ray.
	Nodes int
	// GPUs is the number of GPUs of this host, which the nodes share.
	GPUs int
	// Environment is added to that of all processes, as NAME=VALUE.
	Environment []string
	// Log shows one line of progress.
	Log func(line string)
}

// Cluster is a Ray head and its nodes, all processes of this host.
type Cluster struct {
	// Ray is a client of the head.
	Ray   *rayapi.Client
	nodes []*node
}

// node is one running `ray start --block`.
type node struct {
	// folder is Ray's temporary folder of this node.
	folder  string
	command *exec.Cmd
	ended   chan struct{}
}

const (
	// startTimeout is how long head and nodes may take to start on a loaded machine.
	startTimeout = 3 * time.Minute
	// stopTimeout is how long `ray start --block` may take to end its processes.
	stopTimeout = 30 * time.Second
	startPoll   = 500 * time.Millisecond
)

// Start starts a cluster in a folder, whose path must be short: Ray creates Unix sockets below it, and
// their names are limited to 107 bytes. Close the cluster even after an error.
func Start(ctx context.Context, options Options, folder string) (*Cluster, error) {
	if err := linkPython(options.Python, folder); err != nil {
		return &Cluster{}, err
	}
	ports, err := freePorts(4 + options.Nodes)
	if err != nil {
		return &Cluster{}, err
	}
	head, dashboard := net.JoinHostPort("127.0.0.2", ports[0]), net.JoinHostPort("127.0.0.2", ports[1])
	c := &Cluster{Ray: rayapi.New(rayapi.Options{
		BaseURL: "http://" + dashboard, Transport: &http.Transport{Proxy: nil},
	})}
	flags := []string{
		"--head", "--node-ip-address=127.0.0.2", "--port=" + ports[0], "--dashboard-host=127.0.0.2",
		"--dashboard-port=" + ports[1], "--dashboard-agent-listen-port=" + ports[2], "--ray-client-server-port=" + ports[3],
		"--num-cpus=0", "--num-gpus=0",
	}
	if err := c.startHead(ctx, options, folder, flags); err != nil {
		return c, err
	}
	for i := range options.Nodes {
		// NCCL takes ranks with different host ids for ranks on different hosts, and uses its network
		// between them.
		environment := []string{"NCCL_HOSTID=raytrain-drill-" + strconv.Itoa(i)}
		if options.GPUs > 0 {
			environment = append(environment, "CUDA_VISIBLE_DEVICES="+strconv.Itoa(i%options.GPUs))
		}
		err := c.start(options, filepath.Join(folder, strconv.Itoa(i)), environment,
			"--address="+head, fmt.Sprintf("--node-ip-address=127.0.0.%d", 3+i),
			"--dashboard-agent-listen-port="+ports[4+i], "--num-cpus=2", "--num-gpus=1")
		if err != nil {
			return c, err
		}
	}
	return c, c.await(ctx, 1+options.Nodes)
}

// linkPython makes bin/python in the folder the chosen interpreter. A script and not a link, because a
// linked interpreter does not find the packages of its virtual environment.
func linkPython(python, folder string) error {
	path, err := exec.LookPath(python)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	bin := filepath.Join(folder, "bin")
	if err == nil {
		err = os.MkdirAll(bin, 0o750)
	}
	if err == nil {
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", strings.ReplaceAll(path, "'", `'\''`))
		err = os.WriteFile(filepath.Join(bin, "python"), []byte(script), 0o700) //nolint:gosec // it is a program
	}
	if err != nil {
		return fmt.Errorf("preparing the interpreter %q: %w", python, err)
	}
	return nil
}

// headStarts is how often the head is started. Ray gives up when one of its parts needs more than
// 15 to 30 s, which happens on a loaded machine.
const headStarts = 3

func (c *Cluster) startHead(ctx context.Context, options Options, folder string, flags []string) error {
	for i := 1; ; i++ {
		err := c.start(options, filepath.Join(folder, "h"+strconv.Itoa(i)), nil, flags...)
		if err == nil {
			err = c.await(ctx, 1)
		}
		if err == nil || i == headStarts || ctx.Err() != nil {
			return err
		}
		options.Log(fmt.Sprintf("Ray's head did not start (start %d of %d)", i, headStarts))
		c.Close()
		c.nodes = nil
	}
}

// start starts one Ray node in a process group of its own.
func (c *Cluster) start(options Options, folder string, environment []string, flags ...string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("creating Ray's folder: %w", err)
	}
	output, err := os.Create(filepath.Join(folder, "start.log"))
	if err != nil {
		return fmt.Errorf("creating Ray's log: %w", err)
	}
	defer output.Close()
	flags = append([]string{"-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats",
		"--object-store-memory=134217728", "--temp-dir=" + folder}, flags...)
	command := exec.Command(options.Python, flags...) //nolint:noctx // Close ends it, with its children
	// The job's command is "python".
	command.Env = append(withoutRay(os.Environ()), "PATH="+filepath.Join(filepath.Dir(folder), "bin")+
		string(os.PathListSeparator)+os.Getenv("PATH"))
	command.Env = slices.Concat(command.Env, options.Environment, environment)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting Ray with %q: %w; next: give a Python that has Ray with --python",
			options.Python, err)
	}
	n := &node{folder: folder, command: command, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		_ = command.Wait() //nolint:errcheck // await reads the log of a node that ended
	}()
	c.nodes = append(c.nodes, n)
	return nil
}

// withoutRay removes the variables that would join another Ray cluster, or hide NCCL's lines.
func withoutRay(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "RAY_") && !strings.HasPrefix(variable, "NCCL_DEBUG") {
			kept = append(kept, variable)
		}
	}
	return append(kept, "PYTHONUNBUFFERED=1",
		// Otherwise the head waits 30 s for its node to become idle when it is ended.
		"RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0",
		// Of the dashboard on a loaded machine; it gives up after 30 s otherwise.
		"RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT=120")
}

// errRayStart is wrapped when Ray does not start.
var errRayStart = errors.New("starting Ray on this host")

// await waits until that many nodes are alive.
func (c *Cluster) await(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		nodes, err := c.list(ctx)
		alive := 0
		for _, n := range nodes {
			if n.State == rayapi.Alive {
				alive++
			}
		}
		if err == nil && alive == want {
			return nil
		}
		for _, n := range c.nodes {
			select {
			case <-n.ended:
				return fmt.Errorf("%w: a node ended: %s", errRayStart, tail(filepath.Join(n.folder, "start.log")))
			default:
			}
		}
		if sleepErr := rayapi.Sleep(ctx, startPoll); sleepErr != nil {
			return fmt.Errorf("%w: %d of %d nodes are alive after %s: %w", errRayStart, alive, want,
				startTimeout, errors.Join(sleepErr, err))
		}
	}
}

// list returns the nodes, without waiting long for a head that does not listen yet.
func (c *Cluster) list(ctx context.Context) ([]rayapi.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return c.Ray.Nodes(ctx)
}

// Close ends every process of the cluster. `ray start --block` ends its children when it gets
// SIGTERM; what is left of its group after stopTimeout is killed.
func (c *Cluster) Close() {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		n := c.nodes[i]
		_ = n.command.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		select {
		case <-n.ended:
		case <-time.After(stopTimeout):
		}
		_ = syscall.Kill(-n.command.Process.Pid, syscall.SIGKILL) //nolint:errcheck // an empty group
		<-n.ended
	}
}

// tail returns the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// freePorts returns TCP ports that are free on every loopback address now.
func freePorts(count int) ([]string, error) {
	var ports []string
	for range count {
		listener, err := net.Listen("tcp", "0.0.0.0:0") //nolint:noctx,gosec // closed at once
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}
