package nccl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// consumer is a user's program: it judges a log while it reads it.
const consumer = `package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/ray-train-efa/ray-train-efa/nccl"
)

func main() {
	m := nccl.NewMonitor(nccl.Options{})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		m.Add("stdin", append(in.Bytes(), '\n'))
	}
	m.End("stdin")
	fmt.Print(m.Status().Report.Verdict)
}
`

// TestFromAnotherModule builds a program in a module of its own, which imports the judge as a user
// would, and gives it a log.
func TestFromAnotherModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	const path = "github.com/ray-train-efa/ray-train-efa"
	mod := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(ours), "module example.com/consumer") +
		"\nrequire " + path + " v0.0.0\nreplace " + path + " => " + root + "\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": mod, "go.sum": string(sums), "main.go": consumer} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "consumer", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	log, err := os.Open("testdata/cases/04-efa-note-after-network.log")
	require.NoError(t, err)
	defer func() { assert.NoError(t, log.Close()) }()
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "consumer"))
	run.Stdin = log
	out, err = run.Output()
	require.NoError(t, err)
	assert.Equal(t, "efa", string(out))
}
