package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/script"
)

func TestReadRequirements(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "requirements.txt")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	lines, err := script.ReadRequirements(write("# compiled\n\neinops==0.8.1 \\\n    --hash=sha256:" + a +
		" \\\n    --hash=sha256:" + b + "\n    # via -r requirements.in\r\ntqdm==4.67.1 ; python_version > '3.9' --hash=sha256:" + b))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"einops==0.8.1 --hash=sha256:" + a + " --hash=sha256:" + b,
		"tqdm==4.67.1 ; python_version > '3.9' --hash=sha256:" + b,
	}, lines)

	path := write("einops==0.8.1\n-r other.txt\n--index-url https://index\ntqdm --hash=md5:" + a + "\n" +
		"x @ https://me:s3cret@host/x.whl --hash=sha256:" + a + "\ny @ https://s3cret@host/y.whl --hash=sha256:" + a)
	_, err = script.ReadRequirements(path)
	require.ErrorIs(t, err, script.ErrRequirements)
	for _, says := range []string{`"einops==0.8.1"`, `"-r"`, `"--index-url"`, `"tqdm"`, "has a password", "uv pip compile", path} {
		require.ErrorContains(t, err, says)
	}
	assert.Equal(t, 2, strings.Count(err.Error(), "has a password"))
	assert.NotContains(t, err.Error(), "s3cret")

	_, err = script.ReadRequirements(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnvironmentHasNoSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "DB_PASSWORD",
		"hf_token", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY", "MY_SECRET", "apikey", "PASSWORD",
	} {
		err := script.CheckEnvironment(map[string]string{name: "x-value-x"})
		require.ErrorIs(t, err, script.ErrEnvironment, name)
		require.ErrorContains(t, err, "Kubernetes Secret")
		assert.NotContains(t, err.Error(), "x-value-x")
	}
	require.NoError(t, script.CheckEnvironment(map[string]string{
		"TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "1", "SORT_KEY": "id", "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token",
		"NCCL_NET": "Libfabric", "PROXY": "http://proxy:3128", "KEYS": "a", "SECRETARY": "a", "TOKEN_PATH": "/token",
	}))
	err := script.CheckEnvironment(map[string]string{"PROXY": "http://me:s3cret@proxy:3128"})
	require.ErrorIs(t, err, script.ErrEnvironment)
	assert.NotContains(t, err.Error(), "s3cret")
}
