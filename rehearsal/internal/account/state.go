package account

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// StateFile is the file in Options.Dir that holds the account.
const StateFile = "account.json"

// stateFormat is the version of the file's layout.
const stateFormat = 1

// table holds the resources of one type by AWS id.
type table[T any] map[string]*T

// sorted returns the ids in order, so that every decision that walks a table is the
// same in every run.
func (t table[T]) sorted() []string { return slices.Sorted(maps.Keys(t)) }

// state is everything that the account remembers.
type state struct {
	Format    int    `json:"format"`
	Rehearsed bool   `json:"rehearsed"`
	AccountID string `json:"accountId"`
	Region    string `json:"region"`
	// TokenKey signs the tokens of `aws eks get-token`.
	TokenKey []byte `json:"tokenKey"`
	Faults   Faults `json:"faults"`

	Vpcs                  table[resource.Vpc]                   `json:"vpcs"`
	Subnets               table[resource.Subnet]                `json:"subnets"`
	InternetGateways      table[resource.InternetGateway]       `json:"internetGateways"`
	Eips                  table[resource.Eip]                   `json:"eips"`
	NatGateways           table[resource.NatGateway]            `json:"natGateways"`
	RouteTables           table[resource.RouteTable]            `json:"routeTables"`
	Routes                table[resource.Route]                 `json:"routes"`
	Associations          table[resource.RouteTableAssociation] `json:"associations"`
	VpcEndpoints          table[resource.VpcEndpoint]           `json:"vpcEndpoints"`
	SecurityGroups        table[resource.SecurityGroup]         `json:"securityGroups"`
	SecurityGroupRules    table[resource.SecurityGroupRule]     `json:"securityGroupRules"`
	IngressRules          table[resource.VpcSecurityGroupRule]  `json:"ingressRules"`
	EgressRules           table[resource.VpcSecurityGroupRule]  `json:"egressRules"`
	LaunchTemplates       table[resource.LaunchTemplate]        `json:"launchTemplates"`
	PlacementGroups       table[resource.PlacementGroup]        `json:"placementGroups"`
	CapacityReservations  table[resource.CapacityReservation]   `json:"capacityReservations"`
	Ec2Tags               table[resource.Ec2Tag]                `json:"ec2Tags"`
	Roles                 table[resource.Role]                  `json:"roles"`
	RolePolicies          table[resource.RolePolicy]            `json:"rolePolicies"`
	RolePolicyAttachments table[resource.RolePolicyAttachment]  `json:"rolePolicyAttachments"`
	Policies              table[resource.IAMPolicy]             `json:"policies"`
	OIDCProviders         table[resource.OpenIDConnectProvider] `json:"oidcProviders"`

	Clusters           table[resource.Cluster]                 `json:"clusters"`
	NodeGroups         table[resource.NodeGroup]               `json:"nodeGroups"`
	Addons             table[resource.Addon]                   `json:"addons"`
	AccessEntries      table[resource.AccessEntry]             `json:"accessEntries"`
	AccessAssociations table[resource.AccessPolicyAssociation] `json:"accessAssociations"`
	PodIdentities      table[resource.PodIdentityAssociation]  `json:"podIdentities"`

	Keys               table[resource.Key]                     `json:"keys"`
	Aliases            table[resource.Alias]                   `json:"aliases"`
	LogGroups          table[resource.LogGroup]                `json:"logGroups"`
	Buckets            table[resource.Bucket]                  `json:"buckets"`
	BucketPublicAccess table[resource.BucketPublicAccessBlock] `json:"bucketPublicAccess"`
	BucketVersionings  table[resource.BucketVersioning]        `json:"bucketVersionings"`
	BucketEncryptions  table[resource.BucketEncryption]        `json:"bucketEncryptions"`
	BucketLifecycles   table[resource.BucketLifecycle]         `json:"bucketLifecycles"`
	BucketPolicies     table[resource.BucketPolicy]            `json:"bucketPolicies"`
	BucketOwnerships   table[resource.BucketOwnership]         `json:"bucketOwnerships"`

	Interfaces table[networkInterface] `json:"interfaces"`
	Instances  table[instance]         `json:"instances"`
}

// networkInterface is an elastic network interface, whoever made it.
type networkInterface struct {
	SubnetID       string   `json:"subnetId"`
	SecurityGroups []string `json:"securityGroups"`
	// Owner is what the interface belongs to: an instance, a NAT gateway, a VPC
	// endpoint or "eks:CLUSTER".
	Owner         string `json:"owner"`
	InterfaceType string `json:"interfaceType"`
	PrivateIP     string `json:"privateIp,omitempty"`
	PublicIP      string `json:"publicIp,omitempty"`
}

// instance is an EC2 instance of a node group.
type instance struct {
	Type      string `json:"type"`
	NodeGroup string `json:"nodeGroup"`
	Cluster   string `json:"cluster"`
	Zone      string `json:"zone"`
	SubnetID  string `json:"subnetId"`
	VpcID     string `json:"vpcId"`
	PrivateIP string `json:"privateIp"`
	Placement string `json:"placement,omitempty"`
	AmiType   string `json:"amiType"`
	// Release is the AMI release that the instance runs.
	Release string `json:"release"`
	// TemplateID and TemplateVersion say from which launch template it came.
	TemplateID      string   `json:"templateId,omitempty"`
	TemplateVersion int      `json:"templateVersion,omitempty"`
	Interfaces      []string `json:"interfaces"`
	DeviceBroken    bool     `json:"deviceBroken,omitempty"`
	// Joined is true once the instance is a node of its cluster.
	Joined bool `json:"joined"`
	Spot   bool `json:"spot,omitempty"`
}

// newState returns an account in which nothing exists.
func newState(region string) (*state, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key that signs tokens: %w", err)
	}
	s := &state{
		Format:    stateFormat,
		Rehearsed: true,
		// 111122223333 is the account that AWS's own documentation uses in examples.
		AccountID: "111122223333",
		Region:    region,
		TokenKey:  key,
	}
	s.fill()
	return s, nil
}

// loadState reads the account from a folder; a missing file is an empty account.
func loadState(dir, region string) (*state, error) {
	path := filepath.Join(dir, StateFile)
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newState(region)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the account: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(body, s); err != nil {
		return nil, fmt.Errorf("decoding %q: %w", path, err)
	}
	if s.Format != stateFormat {
		return nil, fmt.Errorf("reading %q: its format is %d, this program knows %d; start a new rehearsal", path, s.Format, stateFormat)
	}
	if region != "" && s.Region != region {
		return nil, fmt.Errorf("reading %q: it is an account of region %q, not %q", path, s.Region, region)
	}
	s.fill()
	return s, nil
}

// save writes the account in one step, so that a killed rehearsal can be resumed.
func (s *state) save(dir string) error {
	body, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the account: %w", err)
	}
	path := filepath.Join(dir, StateFile)
	if err := os.WriteFile(path+".new", body, 0o600); err != nil {
		return fmt.Errorf("writing the account: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replacing %q: %w", path, err)
	}
	return nil
}

// newID returns an id as EC2 makes them: a prefix and 17 hexadecimal digits.
func newID(prefix string) string {
	return prefix + "-" + randomHex(17)
}

// randomHex returns n hexadecimal digits.
func randomHex(n int) string {
	raw := make([]byte, (n+1)/2)
	// crypto/rand.Read never returns an error; it ends the process instead.
	_, _ = rand.Read(raw)
	return hex.EncodeToString(raw)[:n]
}

// arn builds an ARN of this account and region.
func (s *state) arn(service, rest string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, s.Region, s.AccountID, rest)
}
