package controlplane

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parentOf, set in the environment, turns the test binary into a parent that starts one child and
// waits to be killed.
const parentOf = "CONTROLPLANE_TEST_PARENT_LOG"

func TestMain(m *testing.M) {
	log := os.Getenv(parentOf)
	if log == "" {
		os.Exit(m.Run())
	}
	child, err := launch("sleep", log, exec.Command("sleep", "60"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(child.pid)
	<-child.ended
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.True(t, alive(child))
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait(), "it was killed")
	assert.Eventually(t, func() bool { return !alive(child) }, 5*time.Second, 20*time.Millisecond)
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !bytes.Contains(status, []byte("State:\tZ"))
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	stubborn, err := launch("stubborn", filepath.Join(t.TempDir(), "log"),
		exec.Command("sh", "-c", `trap "" TERM; echo ready; while :; do sleep 0.1; done`))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		tail, err := stubborn.tail()
		return err == nil &&
			tail == "ready"
	}, 5*time.Second, 20*time.Millisecond)
	began := time.Now()
	require.NoError(t, stubborn.stop(t.Context()))
	assert.False(t, stubborn.running())
	assert.GreaterOrEqual(t, time.Since(began), stopGrace, "it is asked before it is killed")
}

func TestFailureShowsOnlyThisStartsLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte("from an earlier start\n"), 0o600))
	failing, err := launch("failing", log, exec.Command("sh", "-c",
		"for i in $(seq 30); do echo line $i; done; exit 3"))
	require.NoError(t, err)
	<-failing.ended
	message := failing.failure().Error()
	assert.Contains(t, message, "running failing: it ended unexpectedly: exit status 3")
	assert.Contains(t, message, "line 30")
	assert.NotContains(t, message, "line 18", "an error fits a screen")
	assert.NotContains(t, message, "earlier start")
}

func TestAFullDiskIsTheCause(t *testing.T) {
	failing, err := launch("etcd", filepath.Join(t.TempDir(), "log"), exec.Command("sh", "-c",
		"echo 'panic: write /data/wal: no space left on device'; echo 'goroutine 1 [running]:'; exit 2"))
	require.NoError(t, err)
	<-failing.ended
	message := failing.failure().Error()
	assert.Contains(t, message,
		"running etcd: no space left on device; next: free space on the disk of "+filepath.Dir(failing.logPath))
	assert.NotContains(t, message, "goroutine")
}
