package ec2

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// CheckTemplateForEC2 checks what RunInstances checks for a type. EKS tries a launch template with
// a dry run and passes on EC2's error.
func CheckTemplateForEC2(o *store.Op, data LaunchTemplateData, t instanceType) error {
	// Source: EC2's InvalidParameterCombination on RunInstances.
	if len(data.NetworkInterfaces) > 0 && len(data.VpcSecurityGroupIDs) > 0 {
		return api.Errorf("InvalidParameterCombination",
			"Network interfaces and an instance-level security groups may not be specified on "+
				"the same request")
	}
	if err := checkPeers(o, data.VpcSecurityGroupIDs); err != nil {
		return err
	}
	if data.Placement != nil && data.Placement.GroupName != "" &&
		PlacementNamed(o, data.Placement.GroupName) == nil {
		// Source: EC2 API error codes, InvalidPlacementGroup.Unknown.
		return api.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.",
			data.Placement.GroupName)
	}
	if err := checkVolumes(data.BlockDeviceMappings); err != nil {
		return err
	}
	return checkInterfaces(o, data.NetworkInterfaces, t)
}

// checkVolumes checks the performance of gp3 volumes.
// Source: EBS user guide, "General Purpose SSD volumes"; EC2 returns InvalidParameterValue.
func checkVolumes(mappings []BlockDeviceMapping) error {
	for _, mapping := range mappings {
		if mapping.EBS == nil || mapping.EBS.VolumeType != "gp3" {
			continue
		}
		iops, throughput := mapping.EBS.IOPS, mapping.EBS.Throughput
		switch {
		case iops != 0 && (iops < 3000 || iops > 16000):
			return api.Errorf("InvalidParameterValue",
				"Volume iops of %d is not in the range 3000 to 16000.", iops)
		case throughput != 0 && (throughput < 125 || throughput > 1000):
			return api.Errorf("InvalidParameterValue",
				"Volume throughput of %d is not in the range 125 to 1000.", throughput)
		case throughput*4 > max(iops, 3000):
			return api.Errorf("InvalidParameterValue",
				"Throughput (MiBps) to iops ratio of %f is too high; maximum is 0.250000 MiBps per iops.",
				float64(throughput)/float64(max(iops, 3000)))
		}
	}
	return nil
}

// checkInterfaces checks a template's interfaces against a type.
// Source: EC2 user guide, "Elastic Fabric Adapter": supported types, the greatest number
// of interfaces, and that efa-only cannot be the primary interface. Wording ours.
func checkInterfaces(o *store.Op, nics []TemplateNetworkInterface, t instanceType) error {
	efa := 0
	var slots []string
	for _, nic := range nics {
		if err := checkPeers(o, nic.SecurityGroups); err != nil {
			return err
		}
		card, device := intValue(nic.NetworkCardIndex), intValue(nic.DeviceIndex)
		if nic.DeviceIndex == nil {
			return api.Errorf("InvalidParameterValue",
				"Each network interface requires a device index.")
		}
		if card >= t.NetworkCards {
			return api.Errorf("InvalidParameterValue",
				"The network card index %d is invalid for %s, which has %d network cards.", card,
				t.Name, t.NetworkCards)
		}
		slot := string(rune('0'+card)) + "/" + string(rune('0'+device))
		if slices.Contains(slots, slot) {
			return api.Errorf("InvalidParameterValue",
				"Each network interface requires a unique device index on its network card: card "+
					"%d has device %d twice.",
				card, device)
		}
		slots = append(slots, slot)
		if nic.InterfaceType != "efa" && nic.InterfaceType != "efa-only" {
			continue
		}
		efa++
		if t.EFA == 0 {
			return api.Errorf("InvalidParameterCombination",
				"Interface type %s is not supported for instance type %s: it has no Elastic "+
					"Fabric Adapter.",
				nic.InterfaceType, t.Name)
		}
		if nic.InterfaceType == "efa-only" && card == 0 && device == 0 {
			return api.Errorf("InvalidParameterCombination",
				"An EFA-only network interface can't be the primary network interface (network "+
					"card 0, device 0).")
		}
	}
	if efa > t.EFA {
		return api.Errorf("AttachmentLimitExceeded",
			"Interface count %d exceeds the limit for %s: it supports at most %d EFA interfaces.",
			efa, t.Name, t.EFA)
	}
	if len(nics) > 0 && !slices.Contains(slots, "0/0") {
		return api.Errorf("InvalidParameterCombination",
			"No primary network interface: one interface needs device index 0 on network card 0.")
	}
	return nil
}

func intValue(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}
