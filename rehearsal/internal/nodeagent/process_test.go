package nodeagent

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images/program"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// TestMain lets the test binary play two more parts: the init of containers,
// and the programs of the device plugins' images.
func TestMain(m *testing.M) {
	podinit.MaybeRun()
	if len(os.Args) > 1 && os.Args[1] == "rehearsal-program" {
		os.Exit(program.Run(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// testProcess starts a shell script as a container and returns it with its log.
func testProcess(
	t *testing.T, script string, mounts []podinit.Mount, volumes ...podinit.Mount,
) (*process, string) {
	t.Helper()
	network, err := podnet.New(podnet.Config{})
	require.NoError(t, err)
	node, err := network.AddNode(netip.Addr{})
	require.NoError(t, err)
	sandbox, err := node.NewSandbox()
	require.NoError(t, err)
	folder := t.TempDir()
	host := filepath.Join(folder, "host")
	for _, name := range []string{"root", "tmp", "var-tmp", "home", "host/pods"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, name), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(host, "node-facts.json"), []byte("{}"), 0o644))
	for _, name := range []string{"hostname", "resolv.conf"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("rehearsed "+name+"\n"), 0o644))
	}
	logPath := filepath.Join(folder, "0.log")
	log, err := createLog(logPath)
	require.NoError(t, err)
	spawner := newSpawner()
	p, err := spawner.startProcess(podinit.Spec{
		Hostname: "pod-0",
		Root:     filepath.Join(folder, "root"),
		Mounts:   append(systemMounts(folder, folder, host, nil), mounts...),
		Volumes:  volumes,
		Devices:  []string{"infiniband/uverbs0"},
		Command:  podinit.Command{Argv: []string{"bash", "-c", script}, Env: []string{defaultPath, "HOME=" + homeFolder}},
	}, sandbox.Namespace(), log)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.signal(unix.SIGKILL)
		<-p.done
		spawner.close()
		assert.NoError(t, sandbox.Close())
		assert.NoError(t, node.Close())
		assert.NoError(t, network.Close())
	})
	return p, logPath
}

func waitExit(t *testing.T, p *process) int {
	t.Helper()
	select {
	case <-p.done:
		return p.code
	case <-time.After(20 * time.Second):
		t.Fatal("container did not end")
		return 0
	}
}

// logText is what a log holds, without times and streams.
func logText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(line, " ", 4)
		require.Len(t, parts, 4, line)
		if parts[2] == "P" {
			parts[3] = strings.TrimSuffix(parts[3], "\n")
		}
		out.WriteString(parts[3])
	}
	return out.String()
}

func TestContainerSeesItsOwnMachine(t *testing.T) {
	t.Parallel()
	volume := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(volume, "token"), []byte("secret"), 0o600))
	p, log := testProcess(t, `
hostname
echo pid $$ of $(ls -d /proc/[0-9]* | wc -l)
cat /etc/hostname
ls /run/raytrain-rehearsal /run/raytrain-rehearsal/pods
cat /var/run/secrets/kubernetes.io/serviceaccount/token; echo
cat /usr/share/never/existed/token; echo
touch /usr/bin/x 2>&1 | grep -c Read-only
touch /usr/share/never/existed/x 2>&1 | grep -c Read-only
ls /usr/share | grep -c .
touch ~/mine /tmp/mine /dev/shm/mine && ls /tmp
ls /dev/infiniband; ls -d /sys/class/net/lo
echo discard > /dev/null
ip -o -4 addr show eth0 2>/dev/null | grep -o 'inet [0-9.]*'
exit 3`, nil,
		podinit.Mount{Kind: podinit.Bind, Source: volume, Target: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		podinit.Mount{Kind: podinit.Bind, Source: volume, Target: "/usr/share/never/existed", ReadOnly: true})
	assert.Equal(t, 3, waitExit(t, p))
	text := logText(t, log)
	t.Log(text)
	for _, want := range []string{
		"pod-0\n", "pid ", "rehearsed hostname\n", "node-facts.json\npods\n", "secret\nsecret\n1\n1\n",
		"mine\n", "uverbs0\n", "inet 10.0.128.2\n",
	} {
		assert.Contains(t, text, want)
	}
}

// A container must not keep the memory of other pods' volumes: it sees the
// folder that they are mounted in, at its own place and among the node's facts.
func TestContainerForgetsOtherPodsVolumes(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	require.NoError(t, unix.Mount(podinit.VolumeSource, other, "tmpfs", 0, ""))
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(other, unix.MNT_DETACH)) })
	require.NoError(t, os.WriteFile(filepath.Join(other, "token"), nil, 0o600))
	shown := podinit.Mount{Kind: podinit.Bind, Source: filepath.Dir(other), Target: "/mnt/shown", ReadOnly: true}
	own := podinit.Mount{Kind: podinit.Bind, Source: other, Target: "/mnt/own"}
	p, log := testProcess(t, "ls /mnt/shown/other; ls /mnt/own; grep -c "+podinit.VolumeSource+" /proc/self/mountinfo", []podinit.Mount{shown}, own)
	assert.Zero(t, waitExit(t, p))
	assert.Equal(t, "token\n1\n", logText(t, log))
}

func TestContainerEndsWhole(t *testing.T) {
	t.Parallel()
	p, log := testProcess(t, `
trap 'echo got term; exit 7' TERM
setsid sleep 1000 &
echo ready
while true; do sleep 0.05; done`, nil)
	waitForLog(t, log, "ready")
	p.signal(unix.SIGTERM)
	assert.Equal(t, 7, waitExit(t, p), "an orphan in a session of its own must not outlive the command")
	assert.Contains(t, logText(t, log), "got term\n")
}

func TestKilledContainerReports137(t *testing.T) {
	t.Parallel()
	p, log := testProcess(t, `trap '' TERM; echo ready; while true; do sleep 0.05; done`, nil)
	waitForLog(t, log, "ready")
	p.signal(unix.SIGKILL)
	assert.Equal(t, 137, waitExit(t, p))
}

func waitForLog(t *testing.T, path, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Contains(logText(t, path), want)
	}, 10*time.Second, 20*time.Millisecond)
}

func TestExecRunsBesideTheContainer(t *testing.T) {
	t.Parallel()
	p, log := testProcess(t, `echo here > /tmp/file; echo ready; sleep 1000`, nil)
	waitForLog(t, log, "ready")
	var out, errOut bytes.Buffer
	code, err := p.exec(t.Context(), execOptions{
		command: podinit.Command{Argv: []string{"sh", "-c", "cat /tmp/file -; hostname; echo oops >&2; exit 5"}, Env: []string{defaultPath}},
		stdin:   strings.NewReader("from stdin\n"), stdout: &out, stderr: &errOut,
	})
	require.NoError(t, err)
	assert.Equal(t, 5, code)
	assert.Equal(t, "here\nfrom stdin\npod-0\n", out.String())
	assert.Equal(t, "oops\n", errOut.String())

	_, err = p.exec(t.Context(), execOptions{command: podinit.Command{Argv: []string{"no-such-program"}, Env: []string{defaultPath}}})
	require.ErrorContains(t, err, `exec: "no-such-program": executable file not found in $PATH`)

	out.Reset()
	code, err = p.exec(t.Context(), execOptions{
		command: podinit.Command{Argv: []string{"sh", "-c", "test -t 0 && test -t 1 && echo terminal"}, Env: []string{defaultPath}, Terminal: true},
		stdout:  &out,
	})
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, "terminal\r\n", out.String())

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = p.exec(ctx, execOptions{command: podinit.Command{Argv: []string{"sleep", "1000"}, Env: []string{defaultPath}}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
