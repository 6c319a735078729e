package settings

import (
	"net/netip"
	"regexp"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Place says where the stack is and who may reach it.
type Place struct {
	// AWSRegion is the region of everything in the stack.
	AWSRegion region.Region
	// ClusterName is the EKS cluster's name. It is known before the cluster exists, because it
	// identifies the Kubernetes provider.
	ClusterName string
	// KubernetesVersion is the EKS minor version.
	KubernetesVersion string
	// VPCCIDR is the address block of the VPC.
	VPCCIDR netip.Prefix
	// AvailabilityZone is the zone of all nodes. The zero value means the one in which the stack was
	// created: the first one that offers both instance types.
	AvailabilityZone region.Zone
	// PublicAccessCIDRs may reach the API server from outside the VPC. With none, the public endpoint
	// is off.
	PublicAccessCIDRs CIDRs
	// AdminPrincipalARNs are IAM principals that become cluster administrators, in addition to the
	// creator.
	AdminPrincipalARNs []string
	// LogRetentionDays is how long the control plane's logs are kept.
	LogRetentionDays int
}

// CIDRs is a list of address blocks.
type CIDRs []netip.Prefix

// Strings returns the blocks in CIDR notation.
func (c CIDRs) Strings() []string {
	texts := make([]string, len(c))
	for i, block := range c {
		texts[i] = block.String()
	}
	return texts
}

// Change these for a Kubernetes upgrade. The AMI release must be one of that minor version.
const (
	DefaultKubernetesVersion = "1.36"
	DefaultAMIRelease        = DefaultKubernetesVersion + ".2-20260714"
)

var (
	clusterForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	minorForm   = regexp.MustCompile(`^1\.[0-9]{2}$`)
	// arnForm excludes arn:aws:sts::...:assumed-role/..., which EKS refuses as a principal only after
	// ten minutes. Source: EKS user guide, "Create access entries": the principal is an IAM role or
	// user.
	arnForm = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$`)
)

func placeFields() []Field {
	return []Field{
		{
			Key: "awsRegion", Type: String, Default: "us-east-2", Allowed: region.Allowed,
			Description: "AWS region of everything in the stack.",
			set:         parsed(region.Parse, func(s *Settings) *region.Region { return &s.AWSRegion }),
		},
		{
			Key: "clusterName", Type: String, Default: "ray-train-efa",
			Description: "Name of the EKS cluster, unique in account and region.",
			Allowed:     "1 to 100 letters, digits, dashes and underscores, letter or digit first",
			set:         matching(clusterForm, func(s *Settings) *string { return &s.ClusterName }),
		},
		{
			Key: "kubernetesVersion", Type: String, Default: DefaultKubernetesVersion,
			Description: "EKS minor version.",
			Allowed:     "an EKS minor version",
			set:         matching(minorForm, func(s *Settings) *string { return &s.KubernetesVersion }),
		},
		{
			Key: "vpcCidr", Type: String, Default: "10.42.0.0/16",
			Description: "Private IPv4 block of the VPC, /16 to /20. " +
				"Half of it becomes the subnet of nodes and pods.",
			Allowed: "an IPv4 block of private addresses from /16 to /20",
			set:     setVPCCIDR,
		},
		{
			Key: "availabilityZone", Type: String, Default: "", Example: "us-east-2a",
			Description: "Zone of all nodes. Empty means the zone in which the stack was created: the " +
				"first one that offers both instance types. A change replaces the node groups, not the " +
				"control plane.",
			Allowed: region.ZoneAllowed,
			set:     parsed(region.ParseZone, func(s *Settings) *region.Zone { return &s.AvailabilityZone }),
		},
		{
			Key: "publicAccessCidrs", Type: Array, Required: true, Example: "203.0.113.7/32",
			Description: "IPv4 blocks that may reach the API server from outside the VPC. [] turns off " +
				"the public endpoint; `pulumi up` then works only from inside the VPC. The first update " +
				"needs at least one block.",
			Allowed: "IPv4 blocks that may reach the API server, or [] to keep it inside the VPC",
			Next: `pulumi config set --path 'publicAccessCidrs[0]' ` +
				`"$(curl -s https://checkip.amazonaws.com)/32"`,
			set: setPublicAccessCIDRs,
		},
		{
			Key: "adminPrincipalArns", Type: Array, Default: "[]",
			Description: "ARNs of IAM roles or users that become cluster administrators, in addition to " +
				"the one that runs Pulumi. For a role, use the role's ARN, not the assumed-role ARN.",
			Allowed: "ARNs of IAM roles or users, except the one that runs Pulumi; for a role, the role ARN " +
				"(aws iam get-role --role-name NAME), not the assumed-role ARN of " +
				"aws sts get-caller-identity",
			Example: "arn:aws:iam::123456789012:role/ml-team",
			set:     setAdminPrincipalARNs,
		},
		{
			Key: "logRetentionDays", Type: Integer, Default: "30",
			Description: "Days to keep the control plane's logs.",
			Allowed:     "1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365 or 400",
			set:         setLogRetentionDays,
		},
	}
}
