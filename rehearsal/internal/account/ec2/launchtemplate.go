package ec2

import (
	"reflect"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// LaunchTemplates is the token of LaunchTemplate.
const LaunchTemplates store.Token[LaunchTemplate] = "aws:ec2/launchTemplate:LaunchTemplate"

// EC2 checks most of a launch template only when an instance is launched. Those rules are in
// templatecheck.go.
func launchTemplateType() store.Type[LaunchTemplate] {
	return store.Type[LaunchTemplate]{
		Service:   "EC2",
		CreateAPI: "CreateLaunchTemplate", UpdateAPI: "CreateLaunchTemplateVersion",
		DeleteAPI: "DeleteLaunchTemplate",
		Token:     LaunchTemplates,
		Item:      store.HoldsName[LaunchTemplate],
		Create:    createLaunchTemplate,
		Update:    updateLaunchTemplate,
	}
}

func createLaunchTemplate(o *store.Op, in *LaunchTemplate) (string, error) {
	in.Name = store.Named(in.Name, in.NamePrefix)
	// Source: EC2 API, CreateLaunchTemplate, LaunchTemplateName: 3 to 128 characters.
	if len(in.Name) < 3 || len(in.Name) > 128 {
		return "", api.Errorf("InvalidLaunchTemplateName.MalformedException",
			"Launch template name must be between 3 and 128 characters, and may contain letters, "+
				"numbers, and the following characters: - ( ) . / _. Got %q.",
			in.Name)
	}
	for _, id := range LaunchTemplates.In(o).IDs() {
		// Source: EC2 API error codes.
		if LaunchTemplates.In(o)[id].Name == in.Name {
			return "", api.Errorf("InvalidLaunchTemplateName.AlreadyExistsException",
				"Launch template name already in use.")
		}
	}
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return "", err
	}
	id := store.NewID("lt")
	in.ARN = o.ARN("ec2", "launch-template/"+id)
	in.Versions = []LaunchTemplateData{in.LaunchTemplateData}
	in.LatestVersion, in.DefaultVersion = 1, 1
	return id, nil
}

// updateLaunchTemplate makes a new version when the data changed; tags alone do not.
// Source: EC2 user guide, "Modify a launch template": versions are immutable.
func updateLaunchTemplate(_ *store.Op, _ string, old, in *LaunchTemplate) error {
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
		return api.Errorf("InvalidLaunchTemplateId.VersionNotFound",
			"Could not find the specified version %d for the launch template", in.DefaultVersion)
	}
	return nil
}

// checkTemplateData checks what CreateLaunchTemplate itself checks.
func checkTemplateData(data LaunchTemplateData) error {
	for _, nic := range data.NetworkInterfaces {
		switch nic.InterfaceType {
		case "", "interface", "efa", "efa-only":
		default:
			// Source: EC2 API, LaunchTemplateInstanceNetworkInterfaceSpecificationRequest.
			return api.Errorf("InvalidParameterValue",
				"Value (%s) for parameter interfaceType is invalid. Valid values: interface | "+
					"efa | efa-only",
				nic.InterfaceType)
		}
		for name, value := range map[string]string{"deleteOnTermination": nic.DeleteOnTermination, "associatePublicIpAddress": nic.AssociatePublicIPAddress} {
			if value != "" && value != "true" && value != "false" {
				return api.Errorf("ValidationError", "%s must be \"true\" or \"false\", got %q",
					name, value)
			}
		}
	}
	if err := checkMetadata(data.MetadataOptions); err != nil {
		return err
	}
	return checkReservation(data.CapacityReservationSpecification)
}

// Source: EC2 API, LaunchTemplateInstanceMetadataOptionsRequest.
func checkMetadata(m *MetadataOptions) error {
	switch {
	case m == nil:
	case m.HTTPTokens != "" && m.HTTPTokens != "optional" && m.HTTPTokens != "required":
		return api.Errorf("InvalidParameterValue",
			"Value (%s) for parameter HttpTokens is invalid. Valid values: optional | required",
			m.HTTPTokens)
	case m.HTTPPutResponseHopLimit < 0 || m.HTTPPutResponseHopLimit > 64:
		return api.Errorf("InvalidParameterValue",
			"Value (%d) for parameter HttpPutResponseHopLimit is invalid. Possible values: "+
				"Integers from 1 to 64",
			m.HTTPPutResponseHopLimit)
	}
	return nil
}

// Source: EC2 API, CapacityReservationSpecification: one excludes the other.
func checkReservation(spec *CapacitySpecification) error {
	if spec == nil || spec.CapacityReservationTarget == nil {
		return nil
	}
	if spec.CapacityReservationPreference != "" &&
		spec.CapacityReservationPreference != "capacity-reservations-only" {
		return api.Errorf("InvalidParameterCombination",
			"You can't specify both CapacityReservationPreference and CapacityReservationTarget.")
	}
	target := spec.CapacityReservationTarget
	if target.CapacityReservationID != "" && target.CapacityReservationResourceGroupARN != "" {
		return api.Errorf("InvalidParameterCombination",
			"CapacityReservationId and CapacityReservationResourceGroupArn cannot be specified "+
				"together.")
	}
	return nil
}

// TemplateVersion finds a version of a launch template, which an id or a name gives, by
// number, $Latest or $Default.
func TemplateVersion(o *store.Op, id, name, version string) (TemplateVersionData, error) {
	found := LaunchTemplates.In(o).Any(
		func(row *LaunchTemplate) bool { return id == "" && name != "" && row.Name == name })
	if _, ok := LaunchTemplates.In(o)[id]; ok {
		found = id
	}
	if found == "" {
		return TemplateVersionData{}, api.Errorf("InvalidRequestException",
			"Launch template %s%s does not exist or is not accessible. "+
				"(InvalidLaunchTemplateId.NotFound)",
			id, name)
	}
	template := LaunchTemplates.In(o)[found]
	number := 0
	switch version {
	case "$Latest":
		number = template.LatestVersion
	case "$Default", "":
		number = template.DefaultVersion
	default:
		var err error
		number, err = strconv.Atoi(version)
		if err != nil || number < 1 || number > len(template.Versions) {
			return TemplateVersionData{}, api.Errorf("InvalidRequestException",
				"Launch template version %q of %s does not exist; it has 1 to %d.", version, found,
				len(template.Versions))
		}
	}
	return TemplateVersionData{
		ID:                 found,
		Version:            number,
		LaunchTemplateData: template.Versions[number-1],
	}, nil
}

// TemplateVersionData is one version of a launch template.
type TemplateVersionData struct {
	LaunchTemplateData
	ID      string
	Version int
}
