// Package nodefacts holds the facts about one rehearsed node that decide whether NCCL can use
// EFA there. The account computes them from the launch template, the security groups and the
// placement group; the stand-in for NCCL reads them inside the pod.
package nodefacts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// FileName is the name of the file in a node's folder.
const FileName = "node-facts.json"

// Facts is the content of one node's node-facts.json.
type Facts struct {
	// Rehearsed is always true: nothing that is read from here happened on AWS.
	Rehearsed bool `json:"rehearsed"`
	// Node is the Kubernetes node's name.
	Node string `json:"node"`
	// InstanceID is the emulated EC2 instance, "i-...".
	InstanceID string `json:"instanceId"`
	// InstanceType is the EC2 type, such as g6.12xlarge.
	InstanceType string `json:"instanceType"`
	// Zone is the availability zone's name. EFA traffic does not cross zones.
	Zone string `json:"zone"`
	// SubnetID is the subnet of the primary interface.
	SubnetID string `json:"subnetId"`
	// VPCID is the VPC of that subnet. EFA traffic does not cross VPCs.
	VPCID string `json:"vpcId"`
	// PrivateIP is the primary interface's address.
	PrivateIP string `json:"privateIp"`
	// PlacementGroup is the group's name, "" when the launch template names none.
	PlacementGroup string `json:"placementGroup"`
	// PlacementStrategy is cluster, partition or spread; "" without a group.
	PlacementStrategy string `json:"placementStrategy"`
	// EFAInterfaces counts the interfaces of type efa or efa-only.
	EFAInterfaces int `json:"efaInterfaces"`
	// DeviceBroken is true when libfabric finds the device and cannot open it.
	DeviceBroken bool `json:"deviceBroken"`
	// SecurityGroups are those of the EFA interfaces, or of the primary interface
	// when there is no EFA interface.
	SecurityGroups []SecurityGroup `json:"securityGroups"`
	// GPUs counts the GPUs that the driver shows; 0 on an AMI without the driver.
	GPUs int `json:"gpus"`
	// DriverVersion is the NVIDIA driver of the AMI; "" on one without it.
	DriverVersion string `json:"driverVersion"`
}

// SecurityGroup is one group on a node's interfaces.
type SecurityGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// SelfIngress is true when all traffic from the group itself may enter.
	SelfIngress bool `json:"selfIngress"`
	// SelfEgress is true when all traffic may leave to the group itself. Egress to
	// 0.0.0.0/0 does not count: EFA traffic is not IP traffic.
	// Source: EC2 user guide, "Prepare an EFA-enabled security group".
	SelfEgress bool `json:"selfEgress"`
}

// Write stores the facts as dir/node-facts.json, replacing the file in one step.
func (f Facts) Write(dir string) error {
	body, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the facts about node %q: %w", f.Node, err)
	}
	path := filepath.Join(dir, FileName)
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(body, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing %q: %w", temporary, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("replacing %q: %w", path, err)
	}
	return nil
}

// Read loads dir/node-facts.json.
func Read(dir string) (Facts, error) {
	path := filepath.Join(dir, FileName)
	body, err := os.ReadFile(path)
	if err != nil {
		return Facts{}, fmt.Errorf("reading the node's facts: %w", err)
	}
	var f Facts
	if err := json.Unmarshal(body, &f); err != nil {
		return Facts{}, fmt.Errorf("decoding %q: %w", path, err)
	}
	return f, nil
}
