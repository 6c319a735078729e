package account

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// checkTemplateForEKS holds what CreateNodegroup refuses in a launch template.
// Source: EKS user guide, "Customize managed nodes with launch templates", table
// "Prohibited", and EKS API, CreateNodegroup.
func checkTemplateForEKS(data resource.LaunchTemplateData, group *resource.NodeGroup) error {
	switch {
	case data.IAMInstanceProfile != nil:
		return invalidParameter("Launch template should not specify an instance profile. The noderole in your request will be used to construct an instance profile.")
	case data.InstanceInitiatedShutdownBehavior != "" && data.InstanceInitiatedShutdownBehavior != "terminate":
		return invalidParameter("Launch template should not specify a shutdown behavior other than terminate.")
	case data.HibernationOptions != nil && data.HibernationOptions.Configured:
		return invalidParameter("Launch template should not specify hibernation options.")
	}
	for _, nic := range data.NetworkInterfaces {
		if nic.SubnetID != "" {
			return invalidParameter("Launch template should not specify a subnet. Use the subnets of the node group.")
		}
	}
	return checkBesideTemplate(data, group)
}

// checkBesideTemplate holds what a node group may not set beside a launch template.
// Source: EKS API, CreateNodegroup; the same page of the user guide.
func checkBesideTemplate(data resource.LaunchTemplateData, group *resource.NodeGroup) error {
	switch {
	case group.DiskSize != 0:
		return invalidParameter("Disk size must be specified within the launch template.")
	case group.RemoteAccess != nil:
		return invalidParameter("Remote access configuration cannot be specified with a launch template.")
	case data.InstanceType != "" && len(group.InstanceTypes) > 0:
		return invalidParameter("Cannot specify instance types in launch template and API request")
	case data.ImageID != "" && (group.AmiType != "" && group.AmiType != "CUSTOM" || group.Version != "" || group.ReleaseVersion != ""):
		return invalidParameter("You cannot specify an image id within the launch template, since your nodegroup is configured to use an EKS AMI (amiType, version or releaseVersion is set).")
	}
	return nil
}

// checkTemplateForEC2 holds what RunInstances refuses for a type. EKS tries a launch
// template with a dry run and passes EC2's answer on.
func (o *op) checkTemplateForEC2(data resource.LaunchTemplateData, t instanceType) error {
	// Source: EC2's InvalidParameterCombination on RunInstances.
	if len(data.NetworkInterfaces) > 0 && len(data.VpcSecurityGroupIDs) > 0 {
		return api.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	if err := o.checkPeers(data.VpcSecurityGroupIDs); err != nil {
		return err
	}
	if data.Placement != nil && data.Placement.GroupName != "" && o.placementNamed(data.Placement.GroupName) == nil {
		// Source: EC2 API error codes, InvalidPlacementGroup.Unknown.
		return api.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", data.Placement.GroupName)
	}
	return o.checkInterfaces(data.NetworkInterfaces, t)
}

// checkInterfaces checks a template's interfaces against a type.
// Source: EC2 user guide, "Elastic Fabric Adapter": supported types, the greatest number
// of interfaces, and that efa-only cannot be the primary interface. Wording ours.
func (o *op) checkInterfaces(nics []resource.TemplateNetworkInterface, t instanceType) error {
	efa := 0
	var slots []string
	for _, nic := range nics {
		if err := o.checkPeers(nic.SecurityGroups); err != nil {
			return err
		}
		card, device := number(nic.NetworkCardIndex), number(nic.DeviceIndex)
		if nic.DeviceIndex == nil {
			return api.Errorf("InvalidParameterValue", "Each network interface requires a device index.")
		}
		if card >= t.NetworkCards {
			return api.Errorf("InvalidParameterValue", "The network card index %d is invalid for %s, which has %d network cards.", card, t.Name, t.NetworkCards)
		}
		slot := string(rune('0'+card)) + "/" + string(rune('0'+device))
		if slices.Contains(slots, slot) {
			return api.Errorf("InvalidParameterValue", "Each network interface requires a unique device index on its network card: card %d has device %d twice.", card, device)
		}
		slots = append(slots, slot)
		if nic.InterfaceType != "efa" && nic.InterfaceType != "efa-only" {
			continue
		}
		efa++
		if t.EFA == 0 {
			return api.Errorf("InvalidParameterCombination", "Interface type %s is not supported for instance type %s: it has no Elastic Fabric Adapter.", nic.InterfaceType, t.Name)
		}
		if nic.InterfaceType == "efa-only" && card == 0 && device == 0 {
			return api.Errorf("InvalidParameterCombination", "An EFA-only network interface can't be the primary network interface (network card 0, device 0).")
		}
	}
	if efa > t.EFA {
		return api.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s: it supports at most %d EFA interfaces.", efa, t.Name, t.EFA)
	}
	if len(nics) > 0 && !slices.Contains(slots, "0/0") {
		return api.Errorf("InvalidParameterCombination", "No primary network interface: one interface needs device index 0 on network card 0.")
	}
	return nil
}

func number(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// invalidParameter is EKS's most common refusal.
func invalidParameter(format string, args ...any) *api.Error {
	return api.Errorf("InvalidParameterException", format, args...)
}
