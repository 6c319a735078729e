package workloads

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// WorkerShape is what one worker pod requests of its node.
type WorkerShape struct {
	// CPU is in whole CPUs.
	CPU int
	// MemoryGiB is the whole memory, /dev/shm included.
	MemoryGiB int
	// GPUs is the number of GPUs of the node. One pod uses a whole node, because EFA devices cannot be
	// shared.
	GPUs int
	// EFA is all of the node's interfaces.
	EFA int
}

// The codes of refusals of pods that do not fit.
const (
	// CodeHead means that a system node is too small for the head.
	CodeHead = "head-too-large"
	// CodeObjectStore means that an object store takes too much of its pod's memory.
	CodeObjectStore = "object-store-too-large"
)

// ErrShape means that a worker pod does not fit on a node.
var ErrShape = errors.New("pods do not fit")

// Worker returns the requests of a worker pod. It leaves 4 CPUs and a sixth of the memory to the
// kubelet, agents and device plugins. A g6.12xlarge (48 vCPUs, 192 GiB, about 47.8 and 179 GiB of
// them allocatable) gives 44 and 160 GiB.
func Worker(node capacity.InstanceType) (WorkerShape, error) {
	shape := WorkerShape{
		CPU: node.VCPUs - 4, MemoryGiB: node.MemoryMiB / 1024 * 5 / 6, GPUs: node.GPUs, EFA: node.EFAInterfaces,
	}
	if shape.CPU < 1 || shape.MemoryGiB < 1 {
		return WorkerShape{}, fmt.Errorf("sizing a worker pod for %q (%d vCPUs, %d MiB): %w; next: choose a larger gpu.instanceType",
			node.Name, node.VCPUs, node.MemoryMiB, ErrShape)
	}
	return shape, nil
}

// PodRequest is what one pod requests of a system node.
type PodRequest struct {
	// Name is the pod, Copies the number of its replicas when there is one system node.
	Name   string
	Copies int
	// CPU and Memory are requests.
	CPU, Memory resource.Quantity
}

// SystemPods lists what runs on a single system node, the head last.
// Sources: requests of the EKS add-ons as their manifests of 2026 have them; the operator's is set
// here.
func SystemPods(headCPU, headMemory string) ([]PodRequest, error) {
	cpu, err := resource.ParseQuantity(headCPU)
	if err != nil {
		return nil, fmt.Errorf("reading the head's CPU %q: %w", headCPU, err)
	}
	memory, err := resource.ParseQuantity(headMemory)
	if err != nil {
		return nil, fmt.Errorf("reading the head's memory %q: %w", headMemory, err)
	}
	pod := func(name string, copies int, cpu, memory string) PodRequest {
		return PodRequest{Name: name, Copies: copies, CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory)}
	}
	return []PodRequest{
		pod("aws-node, two containers", 1, "50m", "0"),
		pod("kube-proxy", 1, "100m", "0"),
		pod("eks-pod-identity-agent", 1, "0", "0"),
		pod("coredns", 2, "100m", "70Mi"),
		pod("kuberay-operator", 1, operatorCPU, operatorMemory),
		{Name: "Ray head", Copies: 1, CPU: cpu, Memory: memory},
	}, nil
}

// overheadPerMille is the part of an instance's memory that the kernel does not see, in
// thousandths: about 5 to 7 %. Karpenter assumes 7.5 % for types that it has not run yet.
// Source: https://github.com/aws/karpenter-provider-aws, pkg/operator/options/options.go,
// vm-memory-overhead-percent.
const overheadPerMille = 75

// Allocatable returns the CPU and memory that an EKS node offers to pods. The kubelet reserves 6 % of
// the first CPU, 1 % of the second, 0.5 % of the third and fourth and 0.25 % of the others, and, of
// the memory that the kernel sees, 255 MiB + 11 MiB per pod + 100 MiB for eviction.
// Source: https://github.com/awslabs/amazon-eks-ami, nodeadm, internal/kubelet/config.go.
func Allocatable(node capacity.InstanceType, maxPods int) (cpuMillis, memoryMiB int) {
	reserved := 0
	for cpu := range node.VCPUs {
		switch {
		case cpu == 0:
			reserved += 600
		case cpu == 1:
			reserved += 100
		case cpu < 4:
			reserved += 50
		default:
			reserved += 25
		}
	}
	seen := node.MemoryMiB * (1000 - overheadPerMille) / 1000
	return node.VCPUs*1000 - reserved/10, seen - (255 + 11*maxPods) - 100
}

// smallNodePods is the pod limit of an m7i.xlarge. The kubelet reserves memory for each pod.
const smallNodePods = 58

// CheckObjectStores refuses object stores that take more than half of the memory that they count
// against: Ray's own processes and the training need the rest, and the kernel would kill them.
func CheckObjectStores(gpu capacity.InstanceType, ray settings.Ray) error {
	worker, err := Worker(gpu)
	if err != nil {
		return err
	}
	head, err := resource.ParseQuantity(ray.HeadMemory)
	if err != nil {
		return fmt.Errorf("reading the head's memory %q: %w", ray.HeadMemory, err)
	}
	check := func(setting string, storeMiB, memoryMiB int) error {
		if storeMiB <= memoryMiB/2 {
			return nil
		}
		return &refusal.Refusal{
			Code:    CodeObjectStore,
			Summary: fmt.Sprintf("refused: %s %d (%s)", setting, storeMiB, CodeObjectStore),
			Cause: fmt.Sprintf("it counts against %d MiB of memory, and at most half of that is allowed",
				memoryMiB),
			Next:    fmt.Sprintf("pulumi config set --path %s %d", setting, memoryMiB/2),
			Billing: refusal.NothingCreated,
		}
	}
	return errors.Join(
		check("ray.headObjectStoreMiB", ray.HeadObjectStoreMiB, int(head.Value()>>20)),
		check("ray.workerObjectStoreMiB", ray.WorkerObjectStoreMiB, worker.MemoryGiB<<10))
}

// CheckHead returns a refusal if the head cannot fit on one system node, where it would stay
// Pending.
func CheckHead(node capacity.InstanceType, headCPU, headMemory string) error {
	pods, err := SystemPods(headCPU, headMemory)
	if err != nil {
		return err
	}
	cpuMillis, memoryMiB := Allocatable(node, smallNodePods)
	var cpu, memory resource.Quantity
	for _, pod := range pods {
		for range pod.Copies {
			cpu.Add(pod.CPU)
			memory.Add(pod.Memory)
		}
	}
	if cpu.MilliValue() > int64(cpuMillis) || memory.Value() > int64(memoryMiB)<<20 {
		return &refusal.Refusal{
			Code: CodeHead, Summary: fmt.Sprintf(
				"refused: a Ray head with %s CPU and %s memory on a %s (%s)", headCPU, headMemory, node.Name, CodeHead),
			Cause: fmt.Sprintf("with the other pods it requests %dm CPU and %d MiB, and about %dm and %d MiB are allocatable",
				cpu.MilliValue(), memory.Value()>>20, cpuMillis, memoryMiB),
			Next: "pulumi config set --path ray.headCpu 3 && pulumi config set --path ray.headMemory 10Gi, " +
				"or a larger system.instanceType",
			Billing: refusal.NothingCreated,
		}
	}
	return nil
}
