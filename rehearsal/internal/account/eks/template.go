package eks

import (
	"encoding/base64"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// templateVersion finds the launch template version of a node group.
func templateVersion(o *store.Op, ref *NodeGroupLaunchTemplate) (ec2.TemplateVersionData, error) {
	return ec2.TemplateVersion(o, ref.ID, ref.Name, ref.Version)
}

// checkTemplateForEKS checks what CreateNodegroup checks in a launch template.
// Source: EKS user guide, "Customize managed nodes with launch templates", table
// "Prohibited", and EKS API, CreateNodegroup.
func checkTemplateForEKS(data ec2.LaunchTemplateData, group *NodeGroup) error {
	switch {
	case data.IAMInstanceProfile != nil:
		return invalidParameter(
			"Launch template should not specify an instance profile. The noderole in your " +
				"request will be used to construct an instance profile.")
	case data.InstanceInitiatedShutdownBehavior != "" &&
		data.InstanceInitiatedShutdownBehavior != "terminate":
		return invalidParameter(
			"Launch template should not specify a shutdown behavior other than terminate.")
	case data.HibernationOptions != nil && data.HibernationOptions.Configured:
		return invalidParameter("Launch template should not specify hibernation options.")
	}
	if data.UserData != "" && data.ImageID == "" {
		// EKS merges its own part.
		text, err := base64.StdEncoding.DecodeString(data.UserData)
		if err != nil || !strings.HasPrefix(string(text), "MIME-Version:") {
			return api.Errorf("InvalidRequestException", "User data was not in the MIME multipart format.")
		}
	}
	for _, nic := range data.NetworkInterfaces {
		if nic.SubnetID != "" {
			return invalidParameter(
				"Launch template should not specify a subnet. Use the subnets of the node group.")
		}
	}
	return checkBesideTemplate(data, group)
}

// checkBesideTemplate checks that a node group sets nothing that excludes its launch template.
// Source: EKS API, CreateNodegroup; the same page of the user guide.
func checkBesideTemplate(data ec2.LaunchTemplateData, group *NodeGroup) error {
	switch {
	case group.DiskSize != 0:
		return invalidParameter("Disk size must be specified within the launch template.")
	case group.RemoteAccess != nil:
		return invalidParameter(
			"Remote access configuration cannot be specified with a launch template.")
	case data.InstanceType != "" && len(group.InstanceTypes) > 0:
		return invalidParameter("Cannot specify instance types in launch template and API request")
	case data.ImageID != "" && (group.AmiType != "" && group.AmiType != "CUSTOM" ||
		group.Version != "" || group.ReleaseVersion != ""):
		return invalidParameter(
			"You cannot specify an image id within the launch template, since your nodegroup is " +
				"configured to use an EKS AMI (amiType, version or releaseVersion is set).")
	}
	return nil
}
