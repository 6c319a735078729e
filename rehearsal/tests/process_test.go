package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is a command that the test does not wait for.
type running struct {
	command *exec.Cmd
	out     bytes.Buffer
	ended   chan error
}

// start begins raytrain and returns at once.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{command: exec.CommandContext(t.Context(), filepath.Join(root(t), "bin", "raytrain"),
		args...), ended: make(chan error, 1)}
	r.command.Stdout, r.command.Stderr = &r.out, &r.out
	require.NoError(t, r.command.Start())
	go func() { r.ended <- r.command.Wait() }()
	return r
}

// wait waits for the command and returns its exit status and output.
func (r *running) wait(t *testing.T, atMost time.Duration) (int, string) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(atMost):
		require.Fail(t, "the command does not end", "%s after %s:\n%s", r.command, atMost,
			r.out.String())
	}
	t.Logf("%s\n%s", r.command, r.out.String())
	return r.command.ProcessState.ExitCode(), r.out.String()
}

// descendants returns the processes below pid, from /proc.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil { // ended since
			continue
		}
		one, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		require.NoError(t, err)
		// "PID (NAME) STATE PPID ...", and a name may contain anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parents[one], err = strconv.Atoi(fields[1])
		require.NoError(t, err)
	}
	var found []int
	for one := range parents {
		for up := parents[one]; up > 1; up = parents[up] {
			if up == pid {
				found = append(found, one)
			}
		}
	}
	return found
}

// killEngine kills the engine and every provider, as a power failure would. The rehearsed cluster
// continues: its daemon is no descendant of the update.
func killEngine(t *testing.T, update *running) {
	t.Helper()
	victims := descendants(t, update.command.Process.Pid)
	require.NotEmpty(t, victims)
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			assert.NoError(t, err)
		}
	}
}

// kept is a kept rehearsal.
type kept struct{ dir string }

// shell runs a command with the rehearsal's own kubectl and pulumi and returns its standard output.
func (k *kept) shell(t *testing.T, command string) (string, error) {
	t.Helper()
	env, err := exec.CommandContext(t.Context(), filepath.Join(root(t), "bin", "raytrain"),
		"rehearse", "env", "--dir", k.dir).Output()
	require.NoError(t, err, "%s", complaint(err))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", string(env)+"\n"+command).Output()
	return string(out), err
}

// complaint is what a command wrote to its standard error before it failed.
func complaint(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	return string(exit.Stderr)
}

// attempt is the part of the newest attempt's record in the cluster that tests read.
type attempt struct {
	Number       int    `json:"attempt"`
	Nonce        string `json:"nonce"`
	SubmissionID string `json:"submissionId"`
	Settled      bool   `json:"settled"`
}

// newest reads the record of the newest attempt, the zero attempt if there is none.
func (k *kept) newest(t *testing.T) attempt {
	t.Helper()
	var record attempt
	out, err := k.shell(t,
		`kubectl -n ray get configmap raytrain-gate -o jsonpath='{.data.record\.json}' --ignore-not-found`)
	if err == nil && out != "" {
		require.NoError(t, json.Unmarshal([]byte(out), &record))
	}
	return record
}

// inMidJob waits until an attempt with at least that number runs on the head, and returns it.
func (k *kept) inMidJob(t *testing.T, up *running, number int) attempt {
	t.Helper()
	for range 90 {
		select {
		case <-up.ended:
			require.Fail(t, "the update ended before its job ran", up.out.String())
		case <-time.After(2 * time.Second):
		}
		record := k.newest(t)
		if record.Number < number || record.Settled {
			continue
		}
		_, err := k.shell(t,
			"kubectl -n ray exec $(kubectl -n ray get pods -l ray.io/node-type=head -o name) -- "+
				"ls /tmp/ray/session_latest/logs/job-driver-"+record.SubmissionID+".log")
		if err == nil {
			return record
		}
	}
	require.Fail(t, "the attempt never ran", "attempt %d:\n%s", number, up.out.String())
	return attempt{}
}
