package tests

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/workloads"
)

// update rewrites the goldens instead of comparing: `go test ./tests -update`. Review the diff
// before you commit it.
var update = flag.Bool("update", false, "rewrite testdata")

func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(have), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "next: go test ./tests -update")
	assert.Equal(t, string(want), have, "next, if it is meant: go test ./tests -update")
}

func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func TestGoldenLaunchTemplates(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	text, err := json.MarshalIndent(map[string]any{
		"gpu":    plain(resource.NewProperty(r.one(t, launchTemplate, "gpu").inputs)),
		"system": plain(resource.NewProperty(r.one(t, launchTemplate, "system").inputs)),
	}, "", "  ")
	require.NoError(t, err)
	golden(t, "launch-templates.json", string(text)+"\n")
}

func TestGoldenRayCluster(t *testing.T) {
	t.Parallel()
	made := green(t, options{}).one(t, rayCluster, "train")
	golden(t, "raycluster.yaml", asYAML(t, plain(resource.NewProperty(made.inputs))))
}

func TestGoldenReleases(t *testing.T) {
	t.Parallel()
	releases := map[string]any{}
	for _, made := range green(t, options{}).ofType(release) {
		releases[made.name] = plain(resource.NewProperty(made.inputs))
	}
	golden(t, "releases.yaml", asYAML(t, releases))
}

// A changed URN replaces the resource unless an alias says what it was called before.
func TestGoldenURNs(t *testing.T) {
	t.Parallel()
	var urns strings.Builder
	for _, made := range green(t, options{}).all() {
		fmt.Fprintln(&urns, made.urn)
	}
	golden(t, "urns.txt", urns.String())
}

func TestGoldenPrice(t *testing.T) {
	t.Parallel()
	estimate := capacity.Price(capacity.Request{
		Region: "us-east-2",
		GPU:    capacity.Group{Type: "g6.12xlarge", Nodes: 2, VolumeGiB: 200},
		System: capacity.Group{Type: "m7i.xlarge", Nodes: 1, VolumeGiB: 100},
	}, capacity.StandardSupport)
	golden(t, "price.txt", estimate.Table()+"\n")
}

// The head shares an m7i.xlarge with everything else that is not training. AWS's sample requests
// all 4 CPUs, so the head never starts.
func TestGoldenSystemNode(t *testing.T) {
	t.Parallel()
	head := green(t, options{}).one(t, rayCluster, "train")
	pods, err := workloads.SystemPods(
		head.text(t, headContainer+"|resources|requests|cpu"), head.text(t, headContainer+"|resources|requests|memory"))
	require.NoError(t, err)
	cpuMillis, memoryMiB := workloads.Allocatable(capacity.InstanceType{Name: "m7i.xlarge", VCPUs: 4, MemoryMiB: 16384}, 58)
	var (
		text        strings.Builder
		cpu, memory quantity.Quantity
	)
	for _, pod := range pods {
		for range pod.Copies {
			cpu.Add(pod.CPU)
			memory.Add(pod.Memory)
		}
		fmt.Fprintf(&text, "%-26s %d x %5dm CPU %6d MiB\n", pod.Name, pod.Copies, pod.CPU.MilliValue(), pod.Memory.Value()>>20)
	}
	fmt.Fprintf(&text, "%-26s     %5dm CPU %6d MiB\n", "requested", cpu.MilliValue(), memory.Value()>>20)
	fmt.Fprintf(&text, "%-26s     %5dm CPU %6d MiB\n", "allocatable", cpuMillis, memoryMiB)
	golden(t, "system-node.txt", text.String())
	assert.LessOrEqual(t, cpu.MilliValue(), int64(cpuMillis))
	assert.LessOrEqual(t, memory.Value()>>20, int64(memoryMiB))
}
