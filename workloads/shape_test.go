package workloads

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

func TestWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   capacity.InstanceType
		want WorkerShape
	}{
		{"g6.12xlarge", capacity.InstanceType{VCPUs: 48, MemoryMiB: 196608, GPUs: 4, EFAInterfaces: 1}, WorkerShape{44, 160, 4, 1}},
		{"p4d.24xlarge", capacity.InstanceType{VCPUs: 96, MemoryMiB: 1179648, GPUs: 8, EFAInterfaces: 4}, WorkerShape{92, 960, 8, 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			have, err := Worker(test.in)
			require.NoError(t, err)
			assert.Equal(t, test.want, have)
			cpuMillis, memoryMiB := Allocatable(test.in, 234)
			assert.Less(t, have.CPU*1000, cpuMillis-500, "agents need a part")
			assert.Less(t, have.MemoryGiB*1024, memoryMiB)
		})
	}
	_, err := Worker(capacity.InstanceType{Name: "g6.xlarge", VCPUs: 4, MemoryMiB: 16384})
	require.ErrorIs(t, err, ErrShape)
}

// CPU is as EKS's own documentation and kubelets seen have it: an m7i.xlarge leaves 3920m. Memory
// is less than kubelets say, by the part of Karpenter's 7.5 % that the kernel does see.
func TestAllocatable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name              string
		in                capacity.InstanceType
		pods, cpu, memory int
	}{
		{"m7i.large", capacity.InstanceType{VCPUs: 2, MemoryMiB: 8192}, 29, 1930, 6903},
		{"m7i.xlarge", capacity.InstanceType{VCPUs: 4, MemoryMiB: 16384}, 58, 3920, 14162},
		{"g6.12xlarge", capacity.InstanceType{VCPUs: 48, MemoryMiB: 196608}, 234, 47810, 178933},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cpu, memory := Allocatable(test.in, test.pods)
			assert.Equal(t, test.cpu, cpu)
			assert.Equal(t, test.memory, memory)
		})
	}
}

func TestCheckHead(t *testing.T) {
	t.Parallel()
	node := capacity.InstanceType{Name: "m7i.xlarge", VCPUs: 4, MemoryMiB: 16384}
	require.NoError(t, CheckHead(node, "3", "10Gi"))
	require.NoError(t, CheckHead(node, "3470m", "10Gi"), "to the last millicpu")
	require.ErrorContains(t, CheckHead(node, "3471m", "10Gi"), CodeHead)
	require.ErrorContains(t, CheckHead(node, "4", "10Gi"), CodeHead)
	require.NoError(t, CheckHead(node, "3", "13510Mi"), "to the last MiB")
	require.ErrorContains(t, CheckHead(node, "3", "13511Mi"), CodeHead)
	require.ErrorContains(t, CheckHead(node, "3", "14Gi"), CodeHead, "the kernel sees less than 16 GiB of them")
	require.Error(t, CheckHead(node, "x", "10Gi"))
	require.Error(t, CheckHead(node, "3", "x"))
}

func TestCheckObjectStores(t *testing.T) {
	t.Parallel()
	gpu := capacity.InstanceType{Name: "g6.12xlarge", VCPUs: 48, MemoryMiB: 196608, GPUs: 4, EFAInterfaces: 1}
	codes := func(head, worker int) []string {
		var found []string
		err := CheckObjectStores(gpu, settings.Ray{
			HeadMemory: "10Gi", HeadObjectStoreMiB: head, WorkerObjectStoreMiB: worker,
		})
		for _, one := range refusal.All(err) {
			assert.Equal(t, CodeObjectStore, one.Code)
			found = append(found, one.Next)
		}
		return found
	}
	assert.Empty(t, codes(5120, 81920), "half of 10 and of 160 GiB")
	assert.Equal(t, []string{
		"pulumi config set --path ray.headObjectStoreMiB 5120", "pulumi config set --path ray.workerObjectStoreMiB 81920",
	}, codes(5121, 81921))
	require.ErrorIs(t, CheckObjectStores(capacity.InstanceType{}, settings.Ray{HeadMemory: "10Gi"}), ErrShape)
	require.Error(t, CheckObjectStores(gpu, settings.Ray{HeadMemory: "x"}))
}

func TestPruneKeepsWhatTheSchemaRequires(t *testing.T) {
	t.Parallel()
	fields := map[string]any{
		"creationTimestamp": nil, "status": map[string]any{}, "rayStartParams": map[string]any{},
		"list": []any{map[string]any{"resources": map[string]any{}, "name": "a"}}, "empty": map[string]any{"inner": map[string]any{}},
	}
	prune(fields)
	assert.Equal(t, map[string]any{
		"rayStartParams": map[string]any{}, "list": []any{map[string]any{"name": "a"}},
	}, fields)
}
