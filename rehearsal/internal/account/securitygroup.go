package account

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// A group that Pulumi makes has no egress rule until one is written: pulumi-aws removes
// the one that EC2 gives to a new group.
// Source: pulumi-aws, aws.ec2.SecurityGroup, note "NOTE on Egress rules".
func securityGroupRules(kind resource.Kind) rules[resource.SecurityGroup] {
	return rules[resource.SecurityGroup]{
		kind: kind, service: "EC2", fabric: true,
		createVerb: "CreateSecurityGroup", updateVerb: "AuthorizeSecurityGroupIngress", deleteVerb: "DeleteSecurityGroup",
		// Source: pulumi-aws, default delete timeout: 15 minutes.
		retry:  900,
		rows:   func(s *state) table[resource.SecurityGroup] { return s.SecurityGroups },
		create: (*op).createSecurityGroup,
		update: func(o *op, _ string, _, in *resource.SecurityGroup) error { return o.checkInlineRules(in) },
		remove: (*op).removeSecurityGroup,
	}
}

func (o *op) createSecurityGroup(in *resource.SecurityGroup) (string, error) {
	if _, err := o.vpc(in.VpcID); err != nil {
		return "", err
	}
	in.Name = named(in.Name, in.NamePrefix)
	// Source: EC2 API, CreateSecurityGroup, parameter GroupName.
	if strings.HasPrefix(in.Name, "sg-") || in.Name == "default" {
		return "", api.Errorf("InvalidParameterValue", "Invalid value '%s' for groupName. It may not start with 'sg-' nor be 'default'.", in.Name)
	}
	for _, id := range o.SecurityGroups.sorted() {
		// Source: EC2 API error codes, InvalidGroup.Duplicate.
		if other := o.SecurityGroups[id]; other.VpcID == in.VpcID && other.Name == in.Name {
			return "", api.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", in.Name, in.VpcID)
		}
	}
	if err := o.checkInlineRules(in); err != nil {
		return "", err
	}
	id := newID("sg")
	in.ARN, in.OwnerID = o.arn("ec2", "security-group/"+id), o.AccountID
	return id, nil
}

func (o *op) checkInlineRules(in *resource.SecurityGroup) error {
	for _, rule := range append(append([]resource.GroupRule{}, in.Ingress...), in.Egress...) {
		if err := o.checkPeers(rule.SecurityGroups); err != nil {
			return err
		}
		if err := checkPorts(rule.Protocol, rule.FromPort, rule.ToPort); err != nil {
			return err
		}
	}
	return nil
}

// removeSecurityGroup refuses while an interface or another group's rule uses the group.
// Source: EC2 API, DeleteSecurityGroup; error DependencyViolation.
func (o *op) removeSecurityGroup(id string, _ *resource.SecurityGroup) error {
	for _, interfaceID := range o.Interfaces.sorted() {
		found := o.Interfaces[interfaceID]
		for _, used := range found.SecurityGroups {
			if used == id {
				return api.Errorf("DependencyViolation", "resource %s has a dependent object (rehearsal: interface %s of %s)", id, interfaceID, found.Owner)
			}
		}
	}
	for _, otherID := range o.SecurityGroups.sorted() {
		if otherID == id {
			continue
		}
		for _, f := range o.flowsOf(otherID) {
			for _, peer := range f.peers {
				if peer == id {
					return api.Errorf("DependencyViolation", "resource %s has a dependent object (rehearsal: a rule of %s names it)", id, otherID)
				}
			}
		}
	}
	o.dropRulesOf(id)
	return nil
}

// dropRulesOf deletes the rules that go with a group.
func (o *op) dropRulesOf(groupID string) {
	for _, id := range o.SecurityGroupRules.sorted() {
		if o.SecurityGroupRules[id].SecurityGroupID == groupID {
			delete(o.SecurityGroupRules, id)
		}
	}
	for _, rows := range []table[resource.VpcSecurityGroupRule]{o.IngressRules, o.EgressRules} {
		for _, id := range rows.sorted() {
			if rows[id].SecurityGroupID == groupID {
				delete(rows, id)
			}
		}
	}
}

// checkGroup refuses a security group that does not exist.
func (o *op) checkGroup(id string) error {
	if _, ok := o.SecurityGroups[id]; ok {
		return nil
	}
	return api.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

func (o *op) checkPeers(ids []string) error {
	for _, id := range ids {
		if err := o.checkGroup(id); err != nil {
			return err
		}
	}
	return nil
}

// named returns a name, or one that begins with a prefix.
func named(name, prefix string) string {
	if name == "" && prefix != "" {
		return prefix + randomHex(17)
	}
	return name
}
