package account

import (
	"reflect"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// EC2 checks little of a launch template when it is made: what is wrong with it shows
// when something is launched from it. Those rules are in template_check.go.
func launchTemplateRules(kind resource.Kind) rules[resource.LaunchTemplate] {
	return rules[resource.LaunchTemplate]{
		kind: kind, service: "EC2",
		createVerb: "CreateLaunchTemplate", updateVerb: "CreateLaunchTemplateVersion", deleteVerb: "DeleteLaunchTemplate",
		rows:   func(s *state) table[resource.LaunchTemplate] { return s.LaunchTemplates },
		create: (*op).createLaunchTemplate,
		update: (*op).updateLaunchTemplate,
	}
}

func (o *op) createLaunchTemplate(in *resource.LaunchTemplate) (string, error) {
	in.Name = named(in.Name, in.NamePrefix)
	// Source: EC2 API, CreateLaunchTemplate, LaunchTemplateName: 3 to 128 characters.
	if len(in.Name) < 3 || len(in.Name) > 128 {
		return "", api.Errorf("InvalidLaunchTemplateName.MalformedException", "Launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _. Got %q.", in.Name)
	}
	for _, id := range o.LaunchTemplates.sorted() {
		// Source: EC2 API error codes.
		if o.LaunchTemplates[id].Name == in.Name {
			return "", api.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
	}
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return "", err
	}
	id := newID("lt")
	in.ARN = o.arn("ec2", "launch-template/"+id)
	in.Versions = []resource.LaunchTemplateData{in.LaunchTemplateData}
	in.LatestVersion, in.DefaultVersion = 1, 1
	return id, nil
}

// updateLaunchTemplate makes a new version when the data changed; tags alone do not.
// Source: EC2 user guide, "Modify a launch template": versions are immutable.
func (o *op) updateLaunchTemplate(_ string, old, in *resource.LaunchTemplate) error {
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return err
	}
	if !reflect.DeepEqual(old.LaunchTemplateData, in.LaunchTemplateData) {
		in.Versions = append(in.Versions[:len(in.Versions):len(in.Versions)], in.LaunchTemplateData)
		in.LatestVersion = len(in.Versions)
	}
	switch {
	case in.UpdateDefaultVersion:
		in.DefaultVersion = in.LatestVersion
	case in.DefaultVersion > in.LatestVersion:
		return api.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %d for the launch template", in.DefaultVersion)
	}
	return nil
}

// checkTemplateData holds what CreateLaunchTemplate itself refuses.
func checkTemplateData(data resource.LaunchTemplateData) error {
	for _, nic := range data.NetworkInterfaces {
		switch nic.InterfaceType {
		case "", "interface", "efa", "efa-only":
		default:
			// Source: EC2 API, LaunchTemplateInstanceNetworkInterfaceSpecificationRequest.
			return api.Errorf("InvalidParameterValue", "Value (%s) for parameter interfaceType is invalid. Valid values: interface | efa | efa-only", nic.InterfaceType)
		}
		for name, value := range map[string]string{"deleteOnTermination": nic.DeleteOnTermination, "associatePublicIpAddress": nic.AssociatePublicIPAddress} {
			if value != "" && value != "true" && value != "false" {
				return api.Errorf("ValidationError", "%s must be \"true\" or \"false\", got %q", name, value)
			}
		}
	}
	if err := checkMetadata(data.MetadataOptions); err != nil {
		return err
	}
	return checkReservation(data.CapacityReservationSpecification)
}

// Source: EC2 API, LaunchTemplateInstanceMetadataOptionsRequest.
func checkMetadata(m *resource.MetadataOptions) error {
	switch {
	case m == nil:
	case m.HTTPTokens != "" && m.HTTPTokens != "optional" && m.HTTPTokens != "required":
		return api.Errorf("InvalidParameterValue", "Value (%s) for parameter HttpTokens is invalid. Valid values: optional | required", m.HTTPTokens)
	case m.HTTPPutResponseHopLimit < 0 || m.HTTPPutResponseHopLimit > 64:
		return api.Errorf("InvalidParameterValue", "Value (%d) for parameter HttpPutResponseHopLimit is invalid. Possible values: Integers from 1 to 64", m.HTTPPutResponseHopLimit)
	}
	return nil
}

// Source: EC2 API, CapacityReservationSpecification: one excludes the other.
func checkReservation(spec *resource.CapacitySpecification) error {
	if spec == nil || spec.CapacityReservationTarget == nil {
		return nil
	}
	if spec.CapacityReservationPreference != "" && spec.CapacityReservationPreference != "capacity-reservations-only" {
		return api.Errorf("InvalidParameterCombination", "You can't specify both CapacityReservationPreference and CapacityReservationTarget.")
	}
	target := spec.CapacityReservationTarget
	if target.CapacityReservationID != "" && target.CapacityReservationResourceGroupARN != "" {
		return api.Errorf("InvalidParameterCombination", "CapacityReservationId and CapacityReservationResourceGroupArn cannot be specified together.")
	}
	return nil
}

// templateVersion finds a version of a launch template by number, $Latest or $Default.
func (o *op) templateVersion(ref *resource.NodeGroupLaunchTemplate) (id string, version int, data resource.LaunchTemplateData, err error) {
	for _, candidate := range o.LaunchTemplates.sorted() {
		if candidate == ref.ID || ref.ID == "" && ref.Name != "" && o.LaunchTemplates[candidate].Name == ref.Name {
			id = candidate
		}
	}
	if id == "" {
		return "", 0, data, api.Errorf("InvalidRequestException", "Launch template %s%s does not exist or is not accessible. (InvalidLaunchTemplateId.NotFound)", ref.ID, ref.Name)
	}
	found := o.LaunchTemplates[id]
	switch ref.Version {
	case "$Latest":
		version = found.LatestVersion
	case "$Default", "":
		version = found.DefaultVersion
	default:
		version, err = strconv.Atoi(ref.Version)
		if err != nil || version < 1 || version > len(found.Versions) {
			return "", 0, data, api.Errorf("InvalidRequestException", "Launch template version %q of %s does not exist; it has 1 to %d.", ref.Version, id, len(found.Versions))
		}
	}
	return id, version, found.Versions[version-1], nil
}
