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

// TestGoldenInstanceTypes shows what each instance type with EFA changes: the interfaces of the
// launch template, and what a worker pod requests.
func TestGoldenInstanceTypes(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	fmt.Fprintf(&table, "%-17s %-48s %4s %7s %5s %4s\n", "type", "interfaces", "cpu", "memory", "gpus", "efa")
	for _, one := range capacity.EFATypes() {
		region := generous().with(func(c *cloud) {
			c.machines[one.Name] = machine{
				one.VCPUs, one.MemoryMiB, one.GPUs, one.EFAInterfaces, one.NetworkCards,
			}
			c.zones[one.Name] = c.zones["m7i.xlarge"]
			c.quotas["L-DB2E81BA"], c.quotas["L-417A185B"] = 1e4, 1e4
		})
		r := green(t, options{cloud: &region, ranks: 2 * one.GPUs, config: map[string]string{
			"gpu.instanceType": one.Name, "maxHourlyUsd": "1000", "prices": `{"` + one.Name + `":1}`,
		}})
		cluster := r.one(t, rayCluster, "train")
		request := func(resource string) string {
			return cluster.text(t, workerContainer+"|resources|requests|"+resource)
		}
		fmt.Fprintf(&table, "%-17s %-48s %4s %7s %5s %4s\n", one.Name,
			interfaces(t, r.one(t, launchTemplate, "gpu")), request("cpu"), request("memory"),
			request("nvidia.com/gpu"), request("vpc.amazonaws.com/efa"))
	}
	golden(t, "instance-types.txt", table.String())
}

// interfaces summarizes a launch template's network interfaces: how many of each type, in order.
func interfaces(t *testing.T, template registration) string {
	t.Helper()
	var texts []string
	var last string
	count := 0
	flush := func() {
		if count > 0 {
			texts = append(texts, fmt.Sprintf("%d x %s", count, last))
		}
	}
	for i := range at(t, template.inputs, "networkInterfaces").ArrayValue() {
		path := fmt.Sprintf("networkInterfaces|%d|", i)
		assert.InDelta(t, i, template.get(t, path+"networkCardIndex"), 0)
		kind := fmt.Sprintf("%s (device %v)", template.text(t, path+"interfaceType"),
			template.get(t, path+"deviceIndex"))
		if kind != last {
			flush()
			last, count = kind, 0
		}
		count++
	}
	flush()
	return strings.Join(texts, ", ")
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
		GPU:    capacity.Group{Type: "g6.12xlarge", Nodes: 2, VolumeGiB: 200, VolumeThroughput: 500},
		System: capacity.Group{Type: "m7i.xlarge", Nodes: 1, VolumeGiB: 100, VolumeThroughput: 500},
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
