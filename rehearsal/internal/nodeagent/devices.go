package nodeagent

import (
	"encoding/json"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// devices keeps the file that tells the kubelet which devices the running device plugins offer.
type devices struct {
	path string
	// installed is what the machine has, whether or not a plugin offers it.
	installed map[corev1.ResourceName]int

	mu sync.Mutex
	// plugins counts running plugin containers. A resource that once had one stays known.
	plugins map[corev1.ResourceName]int
}

func newDevices(spec Spec, path string) *devices {
	_ = os.Remove(path) // a node that starts has no devices until a plugin runs
	return &devices{
		path:      path,
		installed: map[corev1.ResourceName]int{ResourceGPU: spec.GPUs, ResourceEFA: spec.EFAInterfaces},
		plugins:   map[corev1.ResourceName]int{},
	}
}

// plugin records that a container of a device plugin started (1) or ended (-1).
func (d *devices) plugin(name string, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plugins[corev1.ResourceName(name)] += by
	type device struct {
		Count int  `json:"count"`
		Lost  bool `json:"lost"`
	}
	found := map[corev1.ResourceName]device{}
	for resource, running := range d.plugins {
		if count := d.installed[resource]; count > 0 {
			found[resource] = device{Count: count, Lost: running == 0}
		}
	}
	data, err := json.Marshal(found)
	if err == nil && os.WriteFile(d.path+".new", data, 0o644) == nil {
		_ = os.Rename(d.path+".new", d.path)
	}
}
