package rehearsal

import (
	"bytes"
	"encoding/json"
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

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
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
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	r := &running{command: exec.CommandContext(t.Context(), filepath.Join(root, "bin", "raytrain"), args...), ended: make(chan error, 1)}
	r.command.Stdout, r.command.Stderr = &r.out, &r.out
	require.NoError(t, r.command.Start())
	go func() { r.ended <- r.command.Wait() }()
	return r
}

// wait returns the exit status and the output.
func (r *running) wait(t *testing.T, atMost time.Duration) (int, string) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(atMost):
		require.Fail(t, "the command does not end", "%s after %s:\n%s", r.command, atMost, r.out.String())
	}
	t.Logf("%s\n%s", r.command, r.out.String())
	return r.command.ProcessState.ExitCode(), r.out.String()
}

// descendants lists the processes below pid whose program's name begins with one
// of names, by what the kernel says of each process.
func descendants(t *testing.T, pid int, names ...string) []int {
	t.Helper()
	parents, programs := map[int]int{}, map[int]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil { // ended since
			continue
		}
		one, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// "PID (NAME) STATE PPID ...", and a name may hold anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parents[one], _ = strconv.Atoi(fields[1])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		first, _, _ := strings.Cut(string(line), "\x00")
		programs[one] = filepath.Base(first)
	}
	var found []int
	for one, program := range programs {
		for up := parents[one]; up > 1; up = parents[up] {
			if up != pid {
				continue
			}
			for _, name := range names {
				if strings.HasPrefix(program, name) {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

// killEngine ends the engine and our provider at once, as a machine that loses
// its power does; the rehearsed cluster runs on.
func killEngine(t *testing.T, r *running) {
	t.Helper()
	victims := descendants(t, r.command.Process.Pid, "pulumi")
	require.NotEmpty(t, victims)
	for _, pid := range victims {
		assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// kept is a kept rehearsal with the shell variables that its tools need.
type kept struct{ dir, env string }

// shell runs a command with the rehearsal's own kubectl and pulumi.
func (k *kept) shell(t *testing.T, command string) (string, error) {
	t.Helper()
	if k.env == "" {
		exit, env := raytrain(t, "rehearse", "env", "--dir", k.dir)
		require.Equal(t, 0, exit)
		k.env = env
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", k.env+"\n"+command).CombinedOutput()
	return string(out), err
}

// attempt is the part of the cluster's record of the newest attempt that tests
// look at.
type attempt struct {
	Number       int    `json:"attempt"`
	Nonce        string `json:"nonce"`
	SubmissionID string `json:"submissionId"`
	Settled      bool   `json:"settled"`
}

// newest reads the record of the newest attempt; the zero attempt for none.
func (k *kept) newest(t *testing.T) attempt {
	t.Helper()
	var record attempt
	out, err := k.shell(t, `kubectl -n ray get configmap raytrain-gate -o jsonpath='{.data.record\.json}' --ignore-not-found`)
	if err == nil && out != "" {
		require.NoError(t, json.Unmarshal([]byte(out), &record))
	}
	return record
}

// inMidJob waits until the update has the attempt with that number running on
// the head, and returns it.
func (k *kept) inMidJob(t *testing.T, up *running, number int) attempt {
	t.Helper()
	for range 90 {
		select {
		case <-up.ended:
			require.Fail(t, "the update ended before its job ran", up.out.String())
		case <-time.After(2 * time.Second):
		}
		record := k.newest(t)
		if record.Number != number || record.Settled {
			continue
		}
		_, err := k.shell(t, "kubectl -n ray exec $(kubectl -n ray get pods -l ray.io/node-type=head -o name) -- "+
			"ls /tmp/ray/session_latest/logs/job-driver-"+record.SubmissionID+".log")
		if err == nil {
			return record
		}
	}
	require.Fail(t, "the attempt never ran", "attempt %d:\n%s", number, up.out.String())
	return attempt{}
}
