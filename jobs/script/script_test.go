package script_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func names(t *testing.T, packed []byte) map[string]fs.FileMode {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	found := map[string]fs.FileMode{}
	for _, file := range reader.File {
		found[file.Name] = file.Mode()
	}
	return found
}

func TestPack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "train.py", "print(1)")
	write(t, folder, "lib/a.py", "a = 1")
	write(t, folder, "lib/__pycache__/a.pyc", "x")
	write(t, folder, ".git/HEAD", "x")
	write(t, folder, "run.sh", "true")
	require.NoError(t, os.Chmod(filepath.Join(folder, "run.sh"), 0o755))
	require.NoError(t, os.Symlink("train.py", filepath.Join(folder, "link.py")))

	first, err := script.Pack(folder)
	require.NoError(t, err)
	assert.Equal(t, map[string]fs.FileMode{
		"train.py": 0o644, "link.py": 0o644, "lib/a.py": 0o644, "run.sh": 0o755,
	}, names(t, first.Zip))

	old := time.Unix(1_000_000_000, 0)
	require.NoError(t, os.Chtimes(filepath.Join(folder, "train.py"), old, old))
	again, err := script.Pack(folder)
	require.NoError(t, err)
	assert.Equal(t, first, again, "times are not part of the package")
	digest, err := script.Digest(folder)
	require.NoError(t, err)
	assert.Equal(t, first.Digest, digest)
}

func TestEveryChangeOfAFileChangesTheDigest(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, change := range map[string]func(t *testing.T, folder string){
		"none":    func(*testing.T, string) {},
		"content": func(t *testing.T, folder string) { t.Helper(); write(t, folder, "train.py", "print(2)") },
		"name": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Rename(filepath.Join(folder, "train.py"), filepath.Join(folder, "other.py")))
		},
		"mode": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Chmod(filepath.Join(folder, "train.py"), 0o755))
		},
		"more": func(t *testing.T, folder string) { t.Helper(); write(t, folder, "empty.py", "") },
	} {
		folder := t.TempDir()
		write(t, folder, "train.py", "print(1)")
		change(t, folder)
		digest, err := script.Digest(folder)
		require.NoError(t, err)
		assert.Empty(t, seen[digest], "%s gives the same digest", name)
		seen[digest] = name
	}
}

func TestFoldersThatCannotBePacked(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, folder string) string{
		"it has no files":     func(_ *testing.T, folder string) string { return folder },
		"is a link to a fold": linked,
		"not accept":          large,
		"no such file":        func(_ *testing.T, folder string) string { return filepath.Join(folder, "absent") },
	}
	for says, prepare := range tests {
		_, err := script.Pack(prepare(t, t.TempDir()))
		require.ErrorContains(t, err, says)
	}
}

func linked(t *testing.T, folder string) string {
	t.Helper()
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(folder, "data")))
	return folder
}

// large makes a sparse file that is longer than a package may be.
func large(t *testing.T, folder string) string {
	t.Helper()
	write(t, folder, "model.bin", "")
	require.NoError(t, os.Truncate(filepath.Join(folder, "model.bin"), script.MaxBytes+1))
	return folder
}

func TestHookZip(t *testing.T) {
	t.Parallel()
	packed, err := script.HookZip()
	require.NoError(t, err)
	assert.Equal(t, map[string]fs.FileMode{"raytrain_evidence.py": 0o644}, names(t, packed))
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	id := script.Identity{SubmissionID: "train-1", Nonce: "5eed"}
	got, err := script.Environment(id, map[string]string{"NCCL_DEBUG": "trace", "A": "b"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"RAYTRAIN_SUBMISSION_ID": "train-1", "RAYTRAIN_NONCE": "5eed", "NCCL_DEBUG": "trace",
		"RAYTRAIN_NCCL_DEBUG": "trace", "RAY_DEDUP_LOGS": "0", "RAY_COLOR_PREFIX": "0", "A": "b",
	}, got)

	bad := map[string]string{
		"NCCL_DEBUG": "WARN", "NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG_FILE": "/x", "RAYTRAIN_NONCE": "1", "RAY_AUTH_TOKEN": "secret",
	}
	_, err = script.Environment(id, bad)
	require.ErrorIs(t, err, script.ErrEnvironment)
	for name := range bad {
		assert.ErrorContains(t, err, `"`+name+`"`)
	}
	assert.NotContains(t, err.Error(), "secret", "a token must not be printed")
}

func TestEntrypointEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "python a.py", script.Entrypoint("python a.py", 0))
	run := func(command string, limit time.Duration) (string, error) {
		output, err := exec.CommandContext(t.Context(), "sh", "-c", script.Entrypoint(command, limit)).Output()
		return string(output), err
	}
	output, err := run(`echo "it's $((1 + 1))" '%s'; exit 0`, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "it's 2 %s\n", output)
	_, err = run("sleep 3600", time.Second)
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, 124, ended.ExitCode())
}
