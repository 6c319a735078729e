package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

// containers is the kubelet's container manager without cgroups. It reports what of the machine is
// reserved, and gives devices to pods.
type containers struct {
	cm.ContainerManager
	machine machine
	ready   config.SourcesReady

	mu sync.Mutex
	// held lists the devices of each pod: by the pod's UID, then by resource.
	held map[string]map[string][]int
}

func newContainers(m machine) *containers {
	c := &containers{
		ContainerManager: cm.NewStubContainerManager(), machine: m, held: map[string]map[string][]int{},
	}
	// A kubelet that was restarted leaves pods the devices that they have.
	if data, err := os.ReadFile(c.checkpoint()); err == nil {
		_ = json.Unmarshal(data, &c.held)
	}
	return c
}

func (c *containers) checkpoint() string {
	return filepath.Join(c.machine.RootDir, "devices-of-pods.json")
}

func (c *containers) Start(
	ctx context.Context, node *v1.Node, active cm.ActivePodsFunc, get cm.GetNodeFunc,
	ready config.SourcesReady, statuses status.PodStatusProvider, runtime internalapi.RuntimeService,
	isolation bool,
) error {
	c.mu.Lock()
	c.ready = ready
	c.mu.Unlock()
	return c.ContainerManager.Start(ctx, node, active, get, ready, statuses, runtime, isolation)
}

func (c *containers) GetNodeAllocatableReservation() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(c.machine.ReservedCPUMillis, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(c.machine.ReservedMemoryBytes, resource.BinarySI),
	}
}

func (c *containers) GetCapacity(bool) v1.ResourceList {
	return v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("80Gi")}
}

// installed describes the devices of one resource in the file that the container runtime writes.
type installed struct {
	Count int `json:"count"`
	// Lost is set while the plugin that offered the devices does not run.
	Lost bool `json:"lost"`
}

func (c *containers) installed() map[string]installed {
	found := map[string]installed{}
	data, err := os.ReadFile(c.machine.DevicesFile)
	if err == nil {
		_ = json.Unmarshal(data, &found) // whole: the file is replaced by renaming
	}
	return found
}

func (c *containers) GetDevicePluginResourceCapacity() (
	capacity, allocatable v1.ResourceList, removed []string,
) {
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	for name, devices := range c.installed() {
		usable := int64(devices.Count)
		if devices.Lost {
			usable = 0
		}
		capacity[v1.ResourceName(name)] = *resource.NewQuantity(int64(devices.Count), resource.DecimalSI)
		allocatable[v1.ResourceName(name)] = *resource.NewQuantity(usable, resource.DecimalSI)
	}
	return capacity, allocatable, nil
}

// ShouldResetExtendedResourceCapacity reports that a kubelet knows no devices when it starts.
func (c *containers) ShouldResetExtendedResourceCapacity() bool { return true }

func (c *containers) GetAllocateResourcesPodAdmitHandler() lifecycle.PodAdmitHandler { return c }

// Admit gives a pod all its devices, or rejects it.
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
	if data, err := json.Marshal(c.held); err == nil {
		_ = os.WriteFile(c.checkpoint(), data, 0o600)
	}
	return lifecycle.PodAdmitResult{Admit: true}
}

// release takes back the devices of pods that have ended. Until the kubelet has seen all pods, it
// cannot know which have.
func (c *containers) release(others []*v1.Pod) {
	if c.ready == nil || !c.ready.AllReady() {
		return
	}
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

// GetResources passes a container its devices as the real plugins do: NVIDIA's by a variable,
// EFA's by device nodes.
func (c *containers) GetResources(
	_ context.Context, pod *v1.Pod, container *v1.Container,
) (*kubecontainer.RunContainerOptions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	options := &kubecontainer.RunContainerOptions{}
	var gpus []string
	for _, i := range c.share(pod, container, resourceGPU) {
		gpus = append(gpus, strconv.Itoa(i))
	}
	if len(gpus) > 0 {
		variable := kubecontainer.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: strings.Join(gpus, ",")}
		options.Envs = append(options.Envs, variable)
	}
	for _, i := range c.share(pod, container, resourceEFA) {
		path := "/dev/infiniband/uverbs" + strconv.Itoa(i)
		options.Devices = append(options.Devices, kubecontainer.DeviceInfo{
			PathOnHost: path, PathInContainer: path, Permissions: "rw",
		})
	}
	return options, nil
}

// share returns a container's part of its pod's devices. Containers that run side by side have
// separate parts; an init container uses those of the containers after it.
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

// requested counts the devices of each resource that a pod uses at the same time.
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
