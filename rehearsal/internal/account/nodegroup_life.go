package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// settleNodeGroup launches a new group's instances and waits for them as nodes.
func (a *Account) settleNodeGroup(ctx context.Context, id string) error {
	var failed error
	err := a.change(func(o *op) error {
		failed = o.scaleTo(id, o.NodeGroups[id].ScalingConfig.DesiredSize)
		return nil
	})
	if err == nil && failed == nil {
		failed = a.joinNodes(ctx, id)
	}
	if err != nil {
		return err
	}
	if failed == nil {
		return a.change(func(o *op) error {
			o.NodeGroups[id].Status = statusActive
			return nil
		})
	}
	code, text := issue(failed)
	err = a.change(func(o *op) error {
		o.NodeGroups[id].Status = statusCreateFailed
		o.NodeGroups[id].Issue = text
		return nil
	})
	return firstError(err, waitingFor("Node Group", id, "create", statusCreateFailed, statusActive, code, text))
}

// joinNodes checks whether a group's new instances can become nodes and has the runtime
// make them so.
func (a *Account) joinNodes(ctx context.Context, id string) error {
	var failed error
	var cluster string
	err := a.change(func(o *op) error {
		group := o.NodeGroups[id]
		cluster = group.ClusterName
		for _, instanceID := range o.Instances.sorted() {
			found := o.Instances[instanceID]
			if found.Cluster != group.ClusterName || found.NodeGroup != group.NodeGroupName || found.Joined {
				continue
			}
			if problem := o.joinProblem(group, found); problem != nil {
				problem.Message = instanceID + ": " + problem.Message
				failed = problem
				continue
			}
			found.Joined = true
		}
		return nil
	})
	if err := firstError(err, failed); err != nil {
		return err
	}
	if err := a.applyNodes(ctx, cluster); err != nil {
		return api.Errorf("NodeCreationFailure", "NodeCreationFailure: Instances failed to join the kubernetes cluster (rehearsal: %v)", err)
	}
	return nil
}

// resettleNodeGroup applies a change: more or fewer nodes, labels and taints, or a
// rolling update to another template version or AMI release. A group that failed stays
// so through an update that asks nothing.
func (a *Account) resettleNodeGroup(ctx context.Context, id string, old resource.NodeGroup) error {
	var failed error
	rolled, nothing := false, false
	err := a.change(func(o *op) error {
		group := o.NodeGroups[id]
		if nothing = asksNothing(&old, group); nothing {
			return nil
		}
		rolled = old.Version != group.Version || old.ReleaseVersion != group.ReleaseVersion ||
			old.LaunchTemplate != nil && old.LaunchTemplate.Version != group.LaunchTemplate.Version
		if rolled {
			failed = o.rollingUpdate(id, min(old.ScalingConfig.DesiredSize, group.ScalingConfig.DesiredSize))
		}
		if failed == nil {
			failed = o.scaleTo(id, group.ScalingConfig.DesiredSize)
		}
		if failed != nil && rolled {
			// EKS rolls back: the group keeps what it had.
			group.Version, group.ReleaseVersion, group.LaunchTemplate = old.Version, old.ReleaseVersion, old.LaunchTemplate
		}
		return nil
	})
	if err != nil || nothing {
		return err
	}
	if failed == nil {
		failed = a.joinNodes(ctx, id)
	}
	if failed == nil {
		return nil
	}
	code, text := issue(failed)
	what := "config update"
	if rolled {
		what = "version update"
	}
	return waitingFor("Node Group", id, what, "Failed", "Successful", code, text)
}

// rollingUpdate replaces a group's instances. EKS first adds some, so it needs room.
// Source: EKS user guide, "Understand each phase of node updates": the group grows by
// the larger of twice the number of its zones and maxUnavailable.
func (o *op) rollingUpdate(id string, size int) error {
	if size == 0 {
		return nil
	}
	group := o.NodeGroups[id]
	zones := map[string]bool{}
	for _, subnetID := range group.SubnetIDs {
		zones[o.Subnets[subnetID].AvailabilityZone] = true
	}
	surge := 2 * len(zones)
	if group.UpdateConfig != nil {
		surge = max(surge, group.UpdateConfig.MaxUnavailable)
	}
	old := o.instancesOf(id)
	if err := o.scaleTo(id, len(old)+surge); err != nil {
		// The surplus goes again: the last launched first.
		o.terminate(o.instancesOf(id), old)
		return err
	}
	o.terminateThese(old)
	return o.scaleTo(id, size)
}

// drainNodeGroup ends a group's instances, then its nodes.
func (a *Account) drainNodeGroup(ctx context.Context, id string) error {
	var cluster string
	err := a.change(func(o *op) error {
		cluster = o.NodeGroups[id].ClusterName
		o.terminateThese(o.instancesOf(id))
		return nil
	})
	if err != nil {
		return err
	}
	return a.applyNodes(ctx, cluster)
}

// readyLimit is how long the runtime may take until nodes are Ready. EKS gives them
// about a quarter of an hour; a rehearsed node is a process on this machine.
const readyLimit = 2 * time.Minute

// refreshFabric gives the running nodes what they may send each other now. A node that
// does not take it keeps the old facts, which is said in the log.
func (a *Account) refreshFabric(ctx context.Context) {
	for _, cluster := range a.clustersIn(statusActive) {
		if err := a.applyNodes(ctx, cluster); err != nil {
			a.log.Error("refreshing the nodes' fabric", "cluster", cluster, "error", err)
		}
	}
}

// applyNodes tells the runtime which nodes a cluster has.
func (a *Account) applyNodes(ctx context.Context, cluster string) error {
	defer a.busy.lock(cluster + "/nodes")()
	if a.options.Runtime == nil {
		return nil
	}
	var nodes []NodeSpec
	running := true
	a.look(func(o *op) {
		_, running = o.Clusters[cluster]
		nodes = o.nodesOf(cluster)
	})
	if !running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if err := a.options.Runtime.NodesChanged(ctx, cluster, nodes); err != nil {
		return fmt.Errorf("changing the nodes of %q: %w", cluster, err)
	}
	return nil
}

// issue returns the code and the text of a node group's health issue.
// Source: EKS API, Issue: AsgInstanceLaunchFailures, NodeCreationFailure, ...
func issue(err error) (code, text string) {
	var awsError *api.Error
	if !errors.As(err, &awsError) {
		return "InternalFailure", err.Error()
	}
	launchFailures := []string{"InsufficientInstanceCapacity", "VcpuLimitExceeded", "Unsupported", "InvalidPlacementGroup.Unknown", "InsufficientFreeAddressesInSubnet", "InvalidParameterValue", "InvalidParameterCombination", "InvalidCapacityReservationId.NotFound"}
	if slices.Contains(launchFailures, awsError.Code) {
		return awsError.Code, fmt.Sprintf("AsgInstanceLaunchFailures: Could not launch On-Demand Instances. %s - %s Launching EC2 instance failed.", awsError.Code, awsError.Message)
	}
	return awsError.Code, awsError.Message
}
