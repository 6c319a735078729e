package eks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// finishNodeGroup launches a new group's instances and waits for them as nodes.
func finishNodeGroup(ctx context.Context, a *store.Store, id string) error {
	var failed error
	err := a.Change(func(o *store.Op) error {
		failed = scaleTo(o, id, NodeGroups.In(o)[id].ScalingConfig.DesiredSize)
		return nil
	})
	if err == nil && failed == nil {
		failed = joinNodes(ctx, a, id)
	}
	if err != nil {
		return err
	}
	if failed == nil {
		return a.Change(func(o *store.Op) error {
			NodeGroups.In(o)[id].Status = StatusActive
			return nil
		})
	}
	code, text := healthIssue(failed)
	err = a.Change(func(o *store.Op) error {
		NodeGroups.In(o)[id].Status = StatusCreateFailed
		NodeGroups.In(o)[id].Issue = text
		return nil
	})
	return cmp.Or(err,
		waitError("Node Group", id, "create", StatusCreateFailed, StatusActive, code, text))
}

// joinNodes checks whether a group's new instances can become nodes and starts their nodes.
func joinNodes(ctx context.Context, a *store.Store, id string) error {
	var failed error
	var cluster string
	err := a.Change(func(o *store.Op) error {
		group := NodeGroups.In(o)[id]
		cluster = group.ClusterName
		for _, instanceID := range ec2.Instances.In(o).IDs() {
			found := ec2.Instances.In(o)[instanceID]
			if found.Cluster != group.ClusterName || found.NodeGroup != group.NodeGroupName ||
				found.Joined {
				continue
			}
			if problem := joinFailure(o, group, found); problem != nil {
				problem.Message = instanceID + ": " + problem.Message
				failed = problem
				continue
			}
			found.Joined = true
		}
		return nil
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	if err := applyNodes(ctx, a, cluster); err != nil {
		return api.Errorf("NodeCreationFailure",
			"NodeCreationFailure: Instances failed to join the kubernetes cluster (rehearsal: %v)",
			err)
	}
	return nil
}

// finishNodeGroupUpdate applies a change: more or fewer nodes, labels and taints, or a rolling
// update to another template version or AMI release. A failed group stays failed if the update
// changes nothing.
func finishNodeGroupUpdate(ctx context.Context, a *store.Store, id string, old NodeGroup) error {
	var failed error
	rolled, nothing := false, false
	err := a.Change(func(o *store.Op) error {
		group := NodeGroups.In(o)[id]
		if nothing = sendsNoRequest(&old, group); nothing {
			return nil
		}
		rolled = old.Version != group.Version || old.ReleaseVersion != group.ReleaseVersion ||
			old.LaunchTemplate != nil && old.LaunchTemplate.Version != group.LaunchTemplate.Version
		if rolled {
			failed = rollingUpdate(o, id,
				min(old.ScalingConfig.DesiredSize, group.ScalingConfig.DesiredSize))
		}
		if failed == nil {
			failed = scaleTo(o, id, group.ScalingConfig.DesiredSize)
		}
		if failed != nil && rolled {
			// EKS rolls back: the group keeps what it had.
			group.Version, group.ReleaseVersion = old.Version, old.ReleaseVersion
			group.LaunchTemplate = old.LaunchTemplate
		}
		return nil
	})
	if err != nil || nothing {
		return err
	}
	if failed == nil {
		failed = joinNodes(ctx, a, id)
	}
	if failed == nil {
		return nil
	}
	code, text := healthIssue(failed)
	what := "config update"
	if rolled {
		what = "version update"
	}
	return waitError("Node Group", id, what, "Failed", "Successful", code, text)
}

// rollingUpdate replaces a group's instances. EKS first adds nodes, so it needs capacity.
// Source: EKS user guide, "Understand each phase of node updates": the group grows by
// the larger of twice the number of its zones and maxUnavailable.
func rollingUpdate(o *store.Op, id string, size int) error {
	if size == 0 {
		return nil
	}
	group := NodeGroups.In(o)[id]
	zones := map[string]bool{}
	for _, subnetID := range group.SubnetIDs {
		zones[ec2.Subnets.In(o)[subnetID].AvailabilityZone] = true
	}
	surge := 2 * len(zones)
	if group.UpdateConfig != nil {
		surge = max(surge, group.UpdateConfig.MaxUnavailable)
	}
	old := InstancesOf(o, id)
	if err := scaleTo(o, id, len(old)+surge); err != nil {
		// The additional instances are terminated, newest first.
		terminateExcept(o, InstancesOf(o, id), old)
		return err
	}
	ec2.TerminateInstances(o, old)
	return scaleTo(o, id, size)
}

// finishNodeGroupDelete ends a group's instances, then its nodes.
func finishNodeGroupDelete(ctx context.Context, a *store.Store, id string) error {
	var cluster string
	err := a.Change(func(o *store.Op) error {
		cluster = NodeGroups.In(o)[id].ClusterName
		ec2.TerminateInstances(o, InstancesOf(o, id))
		return nil
	})
	if err != nil {
		return err
	}
	return applyNodes(ctx, a, cluster)
}

// readyTimeout is the time limit until nodes are Ready. EKS gives them about a quarter of an hour;
// a rehearsed node is a process on this machine.
const readyTimeout = 2 * time.Minute

// RefreshNodes updates the network rules between the running nodes. If the update of a node fails,
// it keeps the old facts and the failure is logged.
func RefreshNodes(ctx context.Context, a *store.Store) {
	for _, cluster := range clustersWithStatus(a, StatusActive) {
		if err := applyNodes(ctx, a, cluster); err != nil {
			a.Log().Error("refreshing the nodes' fabric", "cluster", cluster, "error", err)
		}
	}
}

// applyNodes passes the nodes of a cluster on to the runtime.
func applyNodes(ctx context.Context, a *store.Store, cluster string) error {
	defer a.Lock(cluster + "/nodes")()
	if a.Runtime() == nil {
		return nil
	}
	var nodes []api.NodeSpec
	running := true
	a.Look(func(o *store.Op) {
		_, running = Clusters.In(o)[cluster]
		nodes = nodesOf(o, cluster)
	})
	if !running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := a.Runtime().NodesChanged(ctx, cluster, nodes); err != nil {
		return fmt.Errorf("changing the nodes of %q: %w", cluster, err)
	}
	return nil
}

// healthIssue returns the code and the text of a node group's health issue.
// Source: EKS API, Issue: AsgInstanceLaunchFailures, NodeCreationFailure, ...
func healthIssue(err error) (code, text string) {
	var awsError *api.Error
	if !errors.As(err, &awsError) {
		return "InternalFailure", err.Error()
	}
	launchFailures := []string{
		"InsufficientInstanceCapacity",
		"VcpuLimitExceeded",
		"Unsupported",
		"InvalidPlacementGroup.Unknown",
		"InsufficientFreeAddressesInSubnet",
		"InvalidParameterValue",
		"InvalidParameterCombination",
		"InvalidCapacityReservationId.NotFound",
	}
	if slices.Contains(launchFailures, awsError.Code) {
		return awsError.Code, fmt.Sprintf(
			"AsgInstanceLaunchFailures: Could not launch On-Demand Instances. %s - %s Launching "+
				"EC2 instance failed.",
			awsError.Code, awsError.Message)
	}
	return awsError.Code, awsError.Message
}
