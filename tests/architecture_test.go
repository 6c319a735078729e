package tests

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modulePath is the module path of this project.
const modulePath = "github.com/ray-train-efa/ray-train-efa"

// part is a folder with its subfolders, except those that are parts themselves.
type part struct {
	folder string
	// imports are the folders of this project that the part's packages may import, in addition to its
	// own. Each includes its subfolders.
	imports []string
	// without lists modules that the part must not import, directly or indirectly.
	without []string
}

// parts is the architecture: the program, the gate, the verdict and the rehearsal, which nothing
// imports. Dependencies point one way: settings, infra, cluster, workloads, jobs.
func parts() []part {
	withoutPlatform := []string{"github.com/pulumi", "k8s.io/"}
	return []part{
		// The program.
		{folder: "", imports: []string{"internal/eventlog", "internal/imagepin", "internal/stack"}},
		{folder: "infra", imports: []string{
			"internal/iampolicy", "internal/refusal", "internal/region", "internal/settings",
		}},
		{folder: "cluster", imports: []string{
			"internal/capacity", "internal/iampolicy", "internal/refusal", "internal/region",
			"internal/settings", "infra",
		}},
		{folder: "workloads", imports: []string{
			"internal/capacity", "internal/image", "internal/refusal", "internal/region",
			"internal/settings", "cluster",
		}},
		{folder: "jobs", imports: []string{"jobs/script", "jobs/train", "nccl/report"}},
		{folder: "jobs/script", without: withoutPlatform},
		{folder: "jobs/train", without: withoutPlatform},
		{folder: "internal"},
		{folder: "internal/diagnosis", without: withoutPlatform, imports: []string{
			"internal/capacity", "internal/refusal", "internal/region", "internal/screen",
		}},
		{folder: "internal/settings", imports: []string{
			"internal/image", "internal/refusal", "internal/region", "jobs",
		}},
		{folder: "internal/capacity", without: withoutPlatform,
			imports: []string{"internal/refusal", "internal/region"}},
		{folder: "internal/cost", without: withoutPlatform,
			imports: []string{"internal/capacity", "internal/region"}},
		{folder: "internal/stack", imports: []string{
			"internal", "infra", "cluster", "workloads", "jobs", "nccl/report",
		}},
		// The gate.
		{folder: "provider", imports: []string{
			"internal/eventlog", "internal/refusal", "jobs", "nccl", "provider", "rayapi",
		}},
		{folder: "provider/evidence", without: withoutPlatform,
			imports: []string{"internal/refusal", "nccl", "rayapi"}},
		{folder: "provider/explain", without: withoutPlatform, imports: []string{"nccl"}},
		{folder: "provider/follow", without: withoutPlatform,
			imports: []string{"nccl/report", "provider/evidence", "rayapi"}},
		{folder: "rayapi", without: withoutPlatform},
		{folder: "rayapi/forward", imports: []string{"rayapi"}},
		// The verdict.
		{folder: "nccl", imports: []string{"internal/screen"}, without: append(withoutPlatform,
			modulePath+"/rayapi", modulePath+"/provider")},
		// Everything else.
		{folder: "cmd", imports: []string{"benchmark", "drill", "internal", "nccl", "rayapi", "provider", "jobs", "submit"}},
		{folder: "submit", without: withoutPlatform, imports: []string{
			"jobs/script", "jobs/train", "nccl", "provider/evidence", "provider/follow", "rayapi",
		}},
		{folder: "drill", without: withoutPlatform, imports: []string{
			"jobs/train", "nccl/report", "provider/evidence", "rayapi", "submit",
		}},
		{folder: "benchmark", without: withoutPlatform, imports: []string{
			"jobs/train", "nccl/render", "nccl/report", "provider/evidence", "rayapi", "submit",
		}},
		{folder: "tools"},
		{folder: "tests", imports: []string{"internal", "infra", "cluster", "workloads", "jobs"}},
		{folder: "rehearsal", imports: []string{"internal", "infra", "cluster", "workloads", "jobs", "nccl", "provider", "rayapi"}},
	}
}

// goPackage is what `go list -json` prints about a package.
type goPackage struct {
	ImportPath                               string
	Imports, TestImports, XTestImports, Deps []string
}

// folder returns a package's folder in this project, and whether it has one.
func folder(importPath string) (string, bool) {
	if importPath == modulePath {
		return "", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// within reports whether a folder is another one or below it. The root holds only itself.
func within(inner, outer string) bool {
	return inner == outer || outer != "" && strings.HasPrefix(inner, outer+"/")
}

// partOf returns the smallest part that holds a folder.
func partOf(inner string) (part, bool) {
	var found part
	ok := false
	for _, p := range parts() {
		if within(inner, p.folder) && (!ok || len(p.folder) > len(found.folder)) {
			found, ok = p, true
		}
	}
	return found, ok
}

func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps",
		modulePath+"/...").Output()
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(output))
	count := 0
	for decoder.More() {
		var one goPackage
		require.NoError(t, decoder.Decode(&one))
		count++
		at, ok := folder(one.ImportPath)
		require.True(t, ok, one.ImportPath)
		belongs, ok := partOf(at)
		if !assert.True(t, ok, "%s is in no part of the architecture", at) {
			continue
		}
		for _, path := range one.Imports {
			if imported, ours := folder(path); ours {
				assert.True(t, allows(belongs, imported), "%q must not import %q", at, imported)
			}
		}
		for _, path := range slices.Concat(one.TestImports, one.XTestImports) {
			imported, ours := folder(path)
			if ours && !within(at, "rehearsal") {
				assert.False(t, within(imported, "rehearsal"), "a test of %q must not import %q", at, imported)
			}
		}
		for _, path := range one.Deps {
			for _, module := range belongs.without {
				assert.False(t, strings.HasPrefix(path, module), "%q must not need %s", at, path)
			}
		}
	}
	assert.Greater(t, count, len(parts()))
}

// allows reports whether a package of a part may import a folder: one of the same part, or a listed
// one.
func allows(p part, imported string) bool {
	if own, ok := partOf(imported); ok && own.folder == p.folder {
		return true
	}
	return slices.ContainsFunc(p.imports, func(outer string) bool { return within(imported, outer) })
}
