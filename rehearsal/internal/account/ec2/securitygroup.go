package ec2

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// SecurityGroup is aws:ec2/securityGroup:SecurityGroup.
type SecurityGroup struct {
	Name                string      `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix          string      `json:"namePrefix,omitempty" aws:"replace"`
	Description         string      `json:"description,omitempty" aws:"replace,initial=Managed by Pulumi"`
	VpcID               string      `json:"vpcId,omitempty" aws:"default,replace"`
	RevokeRulesOnDelete bool        `json:"revokeRulesOnDelete,omitempty"`
	Ingress             []GroupRule `json:"ingress,omitempty" aws:"default"`
	Egress              []GroupRule `json:"egress,omitempty" aws:"default"`
	schema.Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
	// MadeBy is "vpc" or "eks:CLUSTER" for groups that AWS makes itself.
	MadeBy string `json:"_madeBy,omitempty" aws:"hidden"`
}

// GroupRule is a rule that is written inside its group.
type GroupRule struct {
	Protocol       string   `json:"protocol" aws:"required"`
	FromPort       int      `json:"fromPort" aws:"required"`
	ToPort         int      `json:"toPort" aws:"required"`
	CidrBlocks     []string `json:"cidrBlocks,omitempty"`
	SecurityGroups []string `json:"securityGroups,omitempty"`
	Self           bool     `json:"self,omitempty"`
	Description    string   `json:"description,omitempty"`
}

// SecurityGroups is the token of SecurityGroup.
const SecurityGroups store.Token[SecurityGroup] = "aws:ec2/securityGroup:SecurityGroup"

// A group that Pulumi makes has no egress rule until one is written: pulumi-aws removes
// the one that EC2 gives to a new group.
// Source: pulumi-aws, aws.ec2.SecurityGroup, note "NOTE on Egress rules".
func securityGroupType() store.Type[SecurityGroup] {
	return store.Type[SecurityGroup]{
		Service:   "EC2",
		CreateAPI: "CreateSecurityGroup", UpdateAPI: "AuthorizeSecurityGroupIngress",
		DeleteAPI: "DeleteSecurityGroup",
		// Source: pulumi-aws, default delete timeout: 15 minutes.
		RetrySeconds: 900,
		Token:        SecurityGroups,
		AffectsNodes: true,
		Parent:       Vpcs.String(),
		ParentID: func(row *SecurityGroup) string {
			return when(row.MadeBy == "vpc", row.VpcID)
		},
		Blocks: func(row *SecurityGroup) string {
			return when(row.MadeBy != "vpc", row.VpcID)
		},
		Item: func(_ *store.Op, row *SecurityGroup) api.Item {
			return api.Item{BlocksName: row.MadeBy != "vpc", Note: row.Name}
		},
		Create: createSecurityGroup,
		Update: func(o *store.Op, _ string, _, in *SecurityGroup) error {
			return checkInlineRules(o, in)
		},
		Delete: deleteSecurityGroup,
	}
}

func createSecurityGroup(o *store.Op, in *SecurityGroup) (string, error) {
	if _, err := findVpc(o, in.VpcID); err != nil {
		return "", err
	}
	in.Name = store.Named(in.Name, in.NamePrefix)
	// Source: EC2 API, CreateSecurityGroup, parameter GroupName.
	if strings.HasPrefix(in.Name, "sg-") || in.Name == "default" {
		return "", api.Errorf("InvalidParameterValue",
			"Invalid value '%s' for groupName. It may not start with 'sg-' nor be 'default'.",
			in.Name)
	}
	for _, id := range SecurityGroups.In(o).IDs() {
		// Source: EC2 API error codes, InvalidGroup.Duplicate.
		if other := SecurityGroups.In(o)[id]; other.VpcID == in.VpcID && other.Name == in.Name {
			return "", api.Errorf("InvalidGroup.Duplicate",
				"The security group '%s' already exists for VPC '%s'", in.Name, in.VpcID)
		}
	}
	if err := checkInlineRules(o, in); err != nil {
		return "", err
	}
	id := store.NewID("sg")
	in.ARN, in.OwnerID = o.ARN("ec2", "security-group/"+id), o.AccountID
	return id, nil
}

func checkInlineRules(o *store.Op, in *SecurityGroup) error {
	for _, rule := range append(append([]GroupRule{}, in.Ingress...), in.Egress...) {
		if err := checkPeers(o, rule.SecurityGroups); err != nil {
			return err
		}
		if err := checkPorts(rule.Protocol, rule.FromPort, rule.ToPort); err != nil {
			return err
		}
	}
	return nil
}

// deleteSecurityGroup refuses while an interface or another group's rule uses the group.
// Source: EC2 API, DeleteSecurityGroup; error DependencyViolation.
func deleteSecurityGroup(o *store.Op, id string, _ *SecurityGroup) error {
	for _, interfaceID := range Interfaces.In(o).IDs() {
		found := Interfaces.In(o)[interfaceID]
		for _, used := range found.SecurityGroups {
			if used == id {
				return api.Errorf("DependencyViolation",
					"resource %s has a dependent object (rehearsal: interface %s of %s)", id,
					interfaceID, found.Owner)
			}
		}
	}
	for _, otherID := range SecurityGroups.In(o).IDs() {
		if otherID == id {
			continue
		}
		for _, f := range flowsOf(o, otherID) {
			for _, peer := range f.peers {
				if peer == id {
					return api.Errorf("DependencyViolation",
						"resource %s has a dependent object (rehearsal: a rule of %s names it)", id,
						otherID)
				}
			}
		}
	}
	return nil
}

// checkGroup refuses a security group that does not exist.
func checkGroup(o *store.Op, id string) error {
	if _, ok := SecurityGroups.In(o)[id]; ok {
		return nil
	}
	return api.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

func checkPeers(o *store.Op, ids []string) error {
	for _, id := range ids {
		if err := checkGroup(o, id); err != nil {
			return err
		}
	}
	return nil
}
