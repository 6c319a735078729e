package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// closedCluster returns a kubeconfig of an API server that refuses connections.
func closedCluster(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	return `{"apiVersion":"v1","kind":"Config","current-context":"c",` +
		`"clusters":[{"name":"k","cluster":{"server":"http://` + address + `"}}],` +
		`"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],"users":[{"name":"u","user":{}}]}`
}

func TestStatusWithAKubeconfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(closedCluster(t)), 0o600))
	args := []string{"status", "--kubeconfig", file, "--raycluster", "train"}
	out, _, code := call(t, args...)
	assert.Zero(t, code, "it could be read that nothing is there")
	assert.Contains(t, out, "verdict: none (no job yet)")
	assert.Contains(t, out, "problem: listing nodes:")

	out, _, code = call(t, append(args, "--exit-code", "--json")...)
	assert.Equal(t, 4, code, "an unreachable cluster has not passed")
	var seen struct {
		Verdict string
		Passed  bool
	}
	require.NoError(t, json.Unmarshal([]byte(out), &seen))
	assert.Equal(t, "none", seen.Verdict)
	assert.False(t, seen.Passed)
}

// A pulumi on the PATH prints a state, as the real one does.
func TestStatusOfAStack(t *testing.T) {
	kubeconfig, err := json.Marshal(closedCluster(t))
	require.NoError(t, err)
	state := `{"deployment":{"resources":[
{"type":"pulumi:pulumi:Stack","outputs":{"hourlyUsd":9.55}},
{"type":"pulumi:providers:kubernetes","inputs":{"kubeconfig":` + string(kubeconfig) + `}},
{"type":"kubernetes:ray.io/v1:RayCluster","outputs":{"metadata":{"name":"train","namespace":"ray"}}},
{"type":"raytrain:index:TrainingJob","outputs":{"verdict":"efa","submissionId":"gate-1-a1"}}]}}`
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "state.json"), []byte(state), 0o600))
	script := "#!/bin/sh\n[ \"$*\" = 'stack export --show-secrets --stack prod' ] || { echo no stack >&2; exit 1; }\n" +
		"cat '" + filepath.Join(folder, "state.json") + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pulumi"), []byte(script), 0o700)) //nolint:gosec // a program
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))

	out, _, code := call(t, "status", "--stack", "prod", "--exit-code")
	assert.Equal(t, 4, code, "the stack alone is no proof")
	assert.Contains(t, out, "$9.55 an hour")

	_, errOut, code := call(t, "status", "--stack", "other")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "no stack")
	assert.Contains(t, errOut, "next:")
}

func TestStatusFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string]string{
		"must be set together":          "--kubeconfig x",
		"not allowed with --kubeconfig": "--kubeconfig x --raycluster y --stack z",
	} {
		_, errOut, code := call(t, append([]string{"status"}, strings.Fields(args)...)...)
		assert.Equal(t, 1, code)
		assert.Contains(t, errOut, want)
	}
}
