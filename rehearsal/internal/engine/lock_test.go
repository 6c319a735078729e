package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyALivingEngineHoldsTheLock(t *testing.T) {
	t.Parallel()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	dead, alive := ended.Process.Pid, os.Getpid()
	for _, test := range []struct {
		name   string
		pids   []int
		locked bool
	}{
		{"no lock", nil, false},
		{"a dead engine's", []int{dead}, false},
		{"a living engine's", []int{alive}, true},
		{"one of each", []int{dead, alive}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			locks := filepath.Join(dir, "backend", ".pulumi", "locks", "organization", ProjectName,
				StackName)
			require.NoError(t, os.MkdirAll(locks, 0o700))
			for i, pid := range test.pids {
				body := fmt.Sprintf(`{"pid":%d,"username":"root"}`, pid)
				require.NoError(t, os.WriteFile(filepath.Join(locks, fmt.Sprintf("%d.json", i)),
					[]byte(body), 0o600))
			}
			err := CheckLock(dir)
			if !test.locked {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, new(LockedError))
			assert.EqualError(t, err,
				fmt.Sprintf("another command (process %d) is using %s; next: wait until it ends", alive, dir))
		})
	}
}
