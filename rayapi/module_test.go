package rayapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program of another module can import the packages that are meant for others.
func TestOtherModulesCanImport(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	folder := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	// The versions of this module, so that nothing has to be resolved.
	_, rest, found := strings.Cut(string(module), "\n")
	require.True(t, found)
	for name, text := range map[string]string{
		"go.sum": string(sums),
		"go.mod": "module example.com/other\n" + rest + `
require github.com/ray-train-efa/ray-train-efa v0.0.0
replace github.com/ray-train-efa/ray-train-efa => ` + root + "\n",
		"main.go": `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

var _ rayapi.Dialer = (*forward.Dialer)(nil)

func main() {
	client := rayapi.New(rayapi.Options{Dialer: rayapi.Unix{Path: os.Args[1]}})
	defer raytest.New().Close()
	_, err := client.Version(context.Background())
	judged, judgeErr := nccl.Judge(context.Background(), []nccl.Source{nccl.BytesSource("a", nil)}, nccl.Options{})
	fmt.Println(err, judged.Verdict, judgeErr)
}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", os.DevNull, ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
}
