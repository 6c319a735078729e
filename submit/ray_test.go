package submit_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

const (
	// startTimeout is how long a head may take to serve jobs on a busy machine.
	startTimeout = 5 * time.Minute
	// starts is how often a head is started: with the machine under load, Ray gives up by itself.
	starts = 4
)

// cluster is a Ray head that knows nothing of this project.
type cluster struct {
	ray *rayapi.Client
	// python is Ray's interpreter.
	python string
}

// startRay starts a head as `ray start --head` does, and ends it with the test.
func startRay(t *testing.T) *cluster {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	tools, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	bin := filepath.Join(tools.RayVenv, "bin")
	packages, err := tools.Packages("transformers")
	require.NoError(t, err)
	for range starts {
		if client := startHead(t, bin, packages); client != nil {
			return &cluster{ray: client, python: filepath.Join(bin, "python")}
		}
	}
	require.FailNow(t, "no Ray head stays up")
	return nil
}

// startHead starts a head and returns a client of it when it serves; nil when it ended instead. Every
// port is its own, because other heads may run on this machine. Scripts find the packages of the
// folder beside Ray's.
func startHead(t *testing.T, bin, packages string) *rayapi.Client {
	t.Helper()
	folder, err := os.MkdirTemp("", "ray") //nolint:usetesting // Ray's sockets need a short path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	ports := freePorts(t, 4)
	command := exec.Command(filepath.Join(bin, "ray"), "start", "--head", "--block", "--disable-usage-stats",
		"--temp-dir="+folder, "--num-cpus=4", "--num-gpus=0", "--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1",
		fmt.Sprint("--port=", ports[0]), fmt.Sprint("--dashboard-port=", ports[1]),
		fmt.Sprint("--dashboard-agent-listen-port=", ports[2]), fmt.Sprint("--ray-client-server-port=", ports[3]),
		"--object-store-memory=80000000")
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+packages,
		"RAY_AUTH_MODE=disabled",
		// Otherwise the head waits 30 s for its node to become idle when it is ended.
		"RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0",
		"RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT=300")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output := &safeBuffer{}
	command.Stdout, command.Stderr = output, output
	require.NoError(t, command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(command.Process.Pid, syscall.SIGTERM) // ray ends its processes
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		}
	})
	client := rayapi.New(rayapi.Options{BaseURL: fmt.Sprint("http://127.0.0.1:", ports[1])})
	for began := time.Now(); time.Since(began) < startTimeout; {
		select {
		case <-ended:
			t.Logf("ray ended: %s", output.String())
			return nil
		case <-time.After(time.Second):
		}
		if serves(t.Context(), client, ports[3]) {
			return client
		}
	}
	t.Logf("ray does not serve jobs: %s", output.String())
	return nil
}

// serves reports whether the head serves, its node is alive, and its Ray Client server listens: on a
// busy machine that one gives up late, and the whole head ends with it.
func serves(ctx context.Context, client *rayapi.Client, clientPort int) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := client.Version(ctx); err != nil {
		return false
	}
	nodes, err := client.Nodes(ctx)
	if err != nil || len(nodes) != 1 || nodes[0].State != rayapi.Alive {
		return false
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(nodes[0].IP, strconv.Itoa(clientPort)))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func freePorts(t *testing.T, count int) []int {
	t.Helper()
	var ports []int
	for range count {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, listener.Close()) }()
		address, ok := listener.Addr().(*net.TCPAddr)
		require.True(t, ok)
		ports = append(ports, address.Port)
	}
	return ports
}

// safeBuffer is a buffer that a process and a test may use at once.
type safeBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}

// submitter returns a submitter whose progress goes to the test's log.
func (c *cluster) submitter(t *testing.T) submit.Submitter {
	t.Helper()
	return submit.Submitter{
		Ray: c.ray, EvidenceDir: t.TempDir(), Again: "raytrain submit",
		Clock: evidence.Clock{Now: time.Now, Sleep: sleep},
		Log:   func(line string) { t.Log(line) },
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// job returns a job that runs a Python program with files beside it.
func (c *cluster) job(t *testing.T, program string, files map[string][]byte) submit.Job {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "program.py"), []byte(strings.TrimLeft(program, "\n")), 0o600))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return submit.Job{
		Entrypoint: c.python + " program.py", WorkingDir: folder, Expected: submit.Expected{Provider: "efa"},
	}
}
