package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// leaseSeconds is how long the control plane believes a node that says
	// nothing, and leaseRenewal how often the node speaks: the kubelet's values.
	leaseSeconds = 40
	leaseRenewal = 10 * time.Second
	// statusPeriod is how often an unchanged status is repeated.
	statusPeriod = 5 * time.Minute
)

// register creates the node, or takes over the one that an earlier run of the
// same machine left, and reports it Ready.
func (a *agent) register(ctx context.Context) error {
	wanted := nodeObject(a.config.Spec)
	nodes := a.client.CoreV1().Nodes()
	_, err := nodes.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = a.takeOver(ctx, wanted)
	}
	if err != nil {
		return fmt.Errorf("registering node %q: %w", wanted.Name, err)
	}
	if err := a.renewLease(ctx); err != nil {
		return err
	}
	return a.reportNode(ctx)
}

// takeOver adopts the node object of an earlier run. Devices are forgotten
// until a plugin runs again, or the scheduler would place pods on the memory of
// a plugin.
func (a *agent) takeOver(ctx context.Context, wanted *corev1.Node) error {
	type devices map[corev1.ResourceName]*resource.Quantity
	type status struct {
		Capacity    devices `json:"capacity"`
		Allocatable devices `json:"allocatable"`
	}
	var patch struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Status status `json:"status"`
	}
	patch.Metadata.Labels = wanted.Labels
	none := devices{ResourceGPU: nil, ResourceEFA: nil} // null removes the key
	patch.Status = status{Capacity: none, Allocatable: none}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	// The object ignores the status part, the subresource the labels.
	for _, subresource := range [][]string{nil, {"status"}} {
		if _, err := a.client.CoreV1().Nodes().Patch(ctx, wanted.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresource...); err != nil {
			return err
		}
	}
	return nil
}

// heartbeat renews the lease and reports the status: at once when the devices
// change, else rarely.
func (a *agent) heartbeat(ctx context.Context) {
	lease, status := time.NewTicker(leaseRenewal), time.NewTicker(statusPeriod)
	defer lease.Stop()
	defer status.Stop()
	var retry <-chan time.Time
	report := func() {
		retry = nil
		if err := a.reportNode(ctx); err != nil && ctx.Err() == nil {
			a.config.Log.Warn("reporting node status", "node", a.config.Spec.Name, "error", err)
			retry = time.After(time.Second)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-lease.C:
			if err := a.renewLease(ctx); err != nil && ctx.Err() == nil {
				a.config.Log.Warn("renewing node lease", "node", a.config.Spec.Name, "error", err)
			}
		case <-status.C:
			report()
		case <-retry:
			report()
		case <-a.devices.changed:
			report()
		}
	}
}

func (a *agent) renewLease(ctx context.Context) error {
	name, seconds, now := a.config.Spec.Name, int32(leaseSeconds), metav1.NewMicroTime(time.Now())
	leases := a.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}, metav1.CreateOptions{})
	case err == nil:
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing lease of node %q: %w", name, err)
	}
	return nil
}

// reportNode writes the node's status.
func (a *agent) reportNode(ctx context.Context) error {
	present, lost := a.devices.resources()
	status := nodeStatus(a.config, a.port, present, lost, a.started, time.Now())
	patch, err := json.Marshal(struct {
		Status corev1.NodeStatus `json:"status"`
	}{status})
	if err != nil {
		return err
	}
	_, err = a.client.CoreV1().Nodes().PatchStatus(ctx, a.config.Spec.Name, patch)
	if err != nil {
		return fmt.Errorf("reporting status of node %q: %w", a.config.Spec.Name, err)
	}
	return nil
}

// allocatable is what pods of the node may have at this moment.
func (a *agent) allocatable() corev1.ResourceList {
	present, lost := a.devices.resources()
	return nodeStatus(a.config, a.port, present, lost, a.started, a.started).Allocatable
}
