package nodeagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// devices keeps the node's devices: how many a running plugin has brought in,
// and which pod holds which.
type devices struct {
	mu sync.Mutex
	// installed is what the machine has, whether or not a plugin says so.
	installed map[corev1.ResourceName]int
	// plugins counts running plugin containers; a resource that once had one
	// stays known after it is gone.
	plugins map[corev1.ResourceName]int
	holders map[corev1.ResourceName][]types.UID // by device index; "" is free
	// changed gets a value when the node's status has to be reported again.
	changed chan struct{}
}

func newDevices(spec Spec) *devices {
	return &devices{
		installed: map[corev1.ResourceName]int{ResourceGPU: spec.GPUs, ResourceEFA: spec.EFAInterfaces},
		plugins:   map[corev1.ResourceName]int{},
		holders: map[corev1.ResourceName][]types.UID{
			ResourceGPU: make([]types.UID, spec.GPUs), ResourceEFA: make([]types.UID, spec.EFAInterfaces),
		},
		changed: make(chan struct{}, 1),
	}
}

// plugin records that a container of a device plugin started (1) or ended (-1).
func (d *devices) plugin(name corev1.ResourceName, by int) {
	d.mu.Lock()
	d.plugins[name] += by
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default: // a report is due already
	}
}

// resources lists the devices that a plugin brought in, and those of them whose
// plugin is gone.
func (d *devices) resources() (present corev1.ResourceList, lost map[corev1.ResourceName]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	present, lost = corev1.ResourceList{}, map[corev1.ResourceName]bool{}
	for name, plugins := range d.plugins {
		if d.installed[name] == 0 {
			continue // nothing to bring in: the resource never appears
		}
		present[name] = *resource.NewQuantity(int64(d.installed[name]), resource.DecimalSI)
		lost[name] = plugins == 0
	}
	return present, lost
}

// allocate gives a pod as many devices as it asks for, all or none.
func (d *devices) allocate(pod types.UID, name corev1.ResourceName, count int) ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var free []int
	if d.plugins[name] > 0 {
		for i, holder := range d.holders[name] {
			if holder == "" {
				free = append(free, i)
			}
		}
	}
	if len(free) < count {
		return nil, fmt.Errorf("Allocate failed due to requested number of devices unavailable for %s. Requested: %d, Available: %d, which is unexpected", name, count, len(free)) //nolint:staticcheck // the kubelet's own words
	}
	for _, i := range free[:count] {
		d.holders[name][i] = pod
	}
	return free[:count], nil
}

// release takes a pod's devices back.
func (d *devices) release(pod types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, holders := range d.holders {
		for i, holder := range holders {
			if holder == pod {
				holders[i] = ""
			}
		}
	}
}

// grant is what a container gets for the devices that it was given.
type grant struct {
	env   []string
	files []string // below /dev
}

// grantFor turns device indices into what the real plugins hand out: the NVIDIA
// plugin names GPUs in a variable, the EFA plugin shows device nodes.
func grantFor(allocated map[corev1.ResourceName][]int) grant {
	var g grant
	if gpus := allocated[ResourceGPU]; len(gpus) > 0 {
		var names []string
		for _, i := range gpus {
			names = append(names, strconv.Itoa(i))
		}
		g.env = append(g.env, "NVIDIA_VISIBLE_DEVICES="+strings.Join(names, ","))
	}
	for _, i := range allocated[ResourceEFA] {
		g.files = append(g.files, "infiniband/uverbs"+strconv.Itoa(i))
	}
	slices.Sort(g.files)
	return g
}

// isExtended says whether a resource is one that device plugins bring in.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}
