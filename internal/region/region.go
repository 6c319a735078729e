// Package region names the regions of AWS and their availability zones.
package region

import (
	"errors"
	"regexp"
	"strings"
)

// Region is the name of an AWS region, such as us-east-2.
type Region string

// Zone is the name of an availability zone, such as us-east-2a. The zero value means any zone.
type Zone string

// Descriptions of the allowed values, for error messages.
const (
	Allowed     = "an AWS region"
	ZoneAllowed = "a zone of awsRegion, or empty to choose one automatically"
)

var (
	regionForm = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)
	zoneForm   = regexp.MustCompile(`^([a-z]{2}(-[a-z]+)+-[0-9][a-z])?$`)
)

// Parse checks the form of a region's name. Only AWS knows whether the region exists.
func Parse(text string) (Region, error) {
	if !regionForm.MatchString(text) {
		return "", errors.New("not the name of an AWS region")
	}
	return Region(text), nil
}

// ParseZone checks the form of a zone's name. An empty text is the zero value.
func ParseZone(text string) (Zone, error) {
	if !zoneForm.MatchString(text) {
		return "", errors.New("not the name of an availability zone")
	}
	return Zone(text), nil
}

// Partition returns the AWS partition of the region, such as aws.
func (r Region) Partition() string {
	switch {
	case strings.HasPrefix(string(r), "cn-"):
		return "aws-cn"
	case strings.HasPrefix(string(r), "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}

// Domain returns the domain of the region's endpoints.
func (r Region) Domain() string {
	if r.Partition() == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// RegistryAccount returns the AWS account of EKS's images in the region.
// Source: EKS user guide, "View Amazon container image registries for Amazon EKS add-ons", of 2026;
// amazon-eks-ami, nodeadm/internal/aws/ecr/ecr.go.
func (r Region) RegistryAccount() string {
	switch r {
	case "af-south-1":
		return "877085696533"
	case "ap-east-1":
		return "800184023465"
	case "ap-south-2":
		return "900889452093"
	case "ap-southeast-3":
		return "296578399912"
	case "ap-southeast-4":
		return "491585149902"
	case "ca-west-1":
		return "761377655185"
	case "cn-north-1":
		return "918309763551"
	case "cn-northwest-1":
		return "961992271922"
	case "eu-central-2":
		return "900612956339"
	case "eu-south-1":
		return "590381155156"
	case "eu-south-2":
		return "455263428931"
	case "il-central-1":
		return "066635153087"
	case "me-central-1":
		return "759879836304"
	case "me-south-1":
		return "558608220178"
	case "us-gov-east-1":
		return "151742754352"
	case "us-gov-west-1":
		return "013241004608"
	default:
		return "602401143452"
	}
}

// In reports whether the zone is one of the region's own: the region's name and a letter. Local and
// Wavelength Zones, such as us-east-1-atl-2a, are not: they have neither control planes nor managed
// node groups. Source: EKS user guide, "Amazon EKS on AWS Local Zones".
func (z Zone) In(r Region) bool {
	letter, ok := strings.CutPrefix(string(z), string(r))
	return ok && len(letter) == 1 && letter >= "a" && letter <= "z"
}
