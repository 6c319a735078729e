package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/status"
)

const (
	resourceGPU = "nvidia.com/gpu"
	resourceEFA = "vpc.amazonaws.com/efa"
)

// containers is the kubelet's container manager without cgroups: it knows what of the machine is
// reserved, and gives devices to pods.
type containers struct {
	cm.ContainerManager
	machine machine
	active  cm.ActivePodsFunc

	mu sync.Mutex
	// held lists the devices of each pod: by the pod's UID, then by resource.
	held map[string]map[string][]int
}

func (c *containers) Start(ctx context.Context, node *v1.Node, active cm.ActivePodsFunc, get cm.GetNodeFunc,
	ready config.SourcesReady, statuses status.PodStatusProvider, runtime internalapi.RuntimeService, isolation bool) error {
	c.active = active
	return c.ContainerManager.Start(ctx, node, active, get, ready, statuses, runtime, isolation)
}

func (c *containers) GetNodeAllocatableReservation() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(c.machine.ReservedCPUMillis, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(c.machine.ReservedMemory, resource.BinarySI),
	}
}

func (c *containers) GetCapacity(bool) v1.ResourceList {
	return v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("80Gi")}
}

// installed is a resource's devices as the file of the container runtime gives them.
type installed struct {
	Count int `json:"count"`
	// Lost is set while the plugin that brought the devices in does not run.
	Lost bool `json:"lost"`
}

func (c *containers) installed() map[string]installed {
	found := map[string]installed{}
	data, err := os.ReadFile(c.machine.DevicesFile)
	if err == nil {
		_ = json.Unmarshal(data, &found) // written by renaming: never half a file
	}
	return found
}

func (c *containers) GetDevicePluginResourceCapacity() (capacity, allocatable v1.ResourceList, removed []string) {
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	for name, devices := range c.installed() {
		count := resource.NewQuantity(int64(devices.Count), resource.DecimalSI)
		capacity[v1.ResourceName(name)], allocatable[v1.ResourceName(name)] = *count, *count
		if devices.Lost {
			allocatable[v1.ResourceName(name)] = *resource.NewQuantity(0, resource.DecimalSI)
		}
	}
	return capacity, allocatable, nil
}

// ShouldResetExtendedResourceCapacity reports that a kubelet which starts knows no devices yet.
func (c *containers) ShouldResetExtendedResourceCapacity() bool { return true }

func (c *containers) GetAllocateResourcesPodAdmitHandler() lifecycle.PodAdmitHandler { return c }

// Admit gives a pod its devices, all or none.
func (c *containers) Admit(attributes *lifecycle.PodAdmitAttributes) lifecycle.PodAdmitResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	pod := attributes.Pod
	if _, known := c.held[string(pod.UID)]; known {
		return lifecycle.PodAdmitResult{Admit: true}
	}
	c.release(attributes.OtherPods)
	mine, devices := map[string][]int{}, c.installed()
	for name, count := range requested(pod) {
		free := c.free(name, devices[name])
		if len(free) < count {
			return lifecycle.PodAdmitResult{
				Reason: "UnexpectedAdmissionError",
				Message: fmt.Sprintf("Allocate failed due to requested number of devices unavailable for %s. "+
					"Requested: %d, Available: %d, which is unexpected", name, count, len(free)),
			}
		}
		mine[name] = free[:count]
	}
	c.held[string(pod.UID)] = mine
	return lifecycle.PodAdmitResult{Admit: true}
}

// release takes back the devices of pods that have ended.
func (c *containers) release(others []*v1.Pod) {
	alive := map[string]bool{}
	for _, pod := range others {
		alive[string(pod.UID)] = true
	}
	for uid := range c.held {
		if !alive[uid] {
			delete(c.held, uid)
		}
	}
}

func (c *containers) free(name string, devices installed) []int {
	if devices.Lost {
		return nil
	}
	var free []int
	for i := range devices.Count {
		taken := false
		for _, of := range c.held {
			taken = taken || slices.Contains(of[name], i)
		}
		if !taken {
			free = append(free, i)
		}
	}
	return free
}

// GetResources names a container's devices as the real plugins do: NVIDIA's by a variable, EFA's
// by device nodes.
func (c *containers) GetResources(_ context.Context, pod *v1.Pod, container *v1.Container) (*kubecontainer.RunContainerOptions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	options := &kubecontainer.RunContainerOptions{}
	var gpus []string
	for _, i := range c.share(pod, container, resourceGPU) {
		gpus = append(gpus, strconv.Itoa(i))
	}
	if len(gpus) > 0 {
		options.Envs = []kubecontainer.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: strings.Join(gpus, ",")}}
	}
	for _, i := range c.share(pod, container, resourceEFA) {
		path := "/dev/infiniband/uverbs" + strconv.Itoa(i)
		options.Devices = append(options.Devices, kubecontainer.DeviceInfo{PathOnHost: path, PathInContainer: path, Permissions: "rw"})
	}
	return options, nil
}

// share is a container's part of its pod's devices. Containers that run side by side have parts of
// their own; an init container uses those of the containers after it.
func (c *containers) share(pod *v1.Pod, container *v1.Container, name string) []int {
	mine, from := c.held[string(pod.UID)][name], 0
	for _, init := range pod.Spec.InitContainers {
		if init.Name == container.Name && !isSidecar(&init) {
			return mine[:min(count(container, name), len(mine))]
		}
	}
	for _, other := range sideBySide(pod) {
		n := count(other, name)
		if other.Name == container.Name {
			return mine[from:min(from+n, len(mine))]
		}
		from += n
	}
	return nil
}

// requested counts the devices of each resource that a pod needs at a time.
func requested(pod *v1.Pod) map[string]int {
	total := map[string]int{}
	for _, name := range []string{resourceGPU, resourceEFA} {
		for _, container := range sideBySide(pod) {
			total[name] += count(container, name)
		}
		for i := range pod.Spec.InitContainers {
			total[name] = max(total[name], count(&pod.Spec.InitContainers[i], name))
		}
	}
	return total
}

// sideBySide lists the containers of a pod that run at the same time.
func sideBySide(pod *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			all = append(all, &pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}

func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

func count(c *v1.Container, name string) int {
	quantity := c.Resources.Limits[v1.ResourceName(name)]
	return int(quantity.Value())
}
