package account

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func securityGroupRuleRules(kind resource.Kind) rules[resource.SecurityGroupRule] {
	return rules[resource.SecurityGroupRule]{
		kind: kind, service: "EC2", fabric: true,
		createVerb: "AuthorizeSecurityGroupIngress", updateVerb: "UpdateSecurityGroupRuleDescriptions", deleteVerb: "RevokeSecurityGroupIngress",
		rows:   func(s *state) table[resource.SecurityGroupRule] { return s.SecurityGroupRules },
		create: (*op).createSecurityGroupRule,
	}
}

func (o *op) createSecurityGroupRule(in *resource.SecurityGroupRule) (string, error) {
	if in.Type != "ingress" && in.Type != "egress" {
		return "", api.Errorf("ValidationError", "expected type to be one of [ingress egress], got %s", in.Type)
	}
	// Source: pulumi-aws, aws.ec2.SecurityGroupRule: self excludes the other peers.
	if in.Self && (len(in.CidrBlocks) > 0 || in.SourceSecurityGroupID != "") {
		return "", api.Errorf("ValidationError", `"self": conflicts with cidrBlocks and sourceSecurityGroupId`)
	}
	if !in.Self && len(in.CidrBlocks) == 0 && len(in.IPv6CidrBlocks) == 0 && in.SourceSecurityGroupID == "" {
		return "", api.Errorf("ValidationError", "one of cidrBlocks, ipv6CidrBlocks, self or sourceSecurityGroupId must be specified")
	}
	in.Protocol = protocolNumber(in.Protocol)
	if err := checkPorts(in.Protocol, in.FromPort, in.ToPort); err != nil {
		return "", err
	}
	if in.SourceSecurityGroupID != "" {
		if err := o.checkPeers([]string{in.SourceSecurityGroupID}); err != nil {
			return "", err
		}
	}
	wanted := ruleFlow(in)
	if err := o.checkNewFlow(in.SecurityGroupID, wanted); err != nil {
		return "", err
	}
	in.SecurityGroupRuleID = newID("sgr")
	return "sgrule-" + randomHex(10), nil
}

func ingressRuleRules(kind resource.Kind) rules[resource.VpcSecurityGroupRule] {
	return rules[resource.VpcSecurityGroupRule]{
		kind: kind, service: "EC2", fabric: true,
		createVerb: "AuthorizeSecurityGroupIngress", updateVerb: "ModifySecurityGroupRules", deleteVerb: "RevokeSecurityGroupIngress",
		rows:   func(s *state) table[resource.VpcSecurityGroupRule] { return s.IngressRules },
		create: func(o *op, in *resource.VpcSecurityGroupRule) (string, error) { return o.createVpcRule(in, true) },
		update: func(o *op, _ string, _, in *resource.VpcSecurityGroupRule) error { return o.checkVpcRule(in) },
	}
}

func egressRuleRules(kind resource.Kind) rules[resource.VpcSecurityGroupRule] {
	return rules[resource.VpcSecurityGroupRule]{
		kind: kind, service: "EC2", fabric: true,
		createVerb: "AuthorizeSecurityGroupEgress", updateVerb: "ModifySecurityGroupRules", deleteVerb: "RevokeSecurityGroupEgress",
		rows:   func(s *state) table[resource.VpcSecurityGroupRule] { return s.EgressRules },
		create: func(o *op, in *resource.VpcSecurityGroupRule) (string, error) { return o.createVpcRule(in, false) },
		update: func(o *op, _ string, _, in *resource.VpcSecurityGroupRule) error { return o.checkVpcRule(in) },
	}
}

func (o *op) createVpcRule(in *resource.VpcSecurityGroupRule, ingress bool) (string, error) {
	if err := o.checkVpcRule(in); err != nil {
		return "", err
	}
	if err := o.checkNewFlow(in.SecurityGroupID, vpcFlow(in, ingress)); err != nil {
		return "", err
	}
	id := newID("sgr")
	in.SecurityGroupRuleID = id
	in.ARN = o.arn("ec2", "security-group-rule/"+id)
	return id, nil
}

// checkVpcRule checks a rule that is a resource of its own.
// Source: pulumi-aws, aws.vpc.SecurityGroupIngressRule: exactly one peer, and no ports
// with protocol -1.
func (o *op) checkVpcRule(in *resource.VpcSecurityGroupRule) error {
	if (in.CidrIpv4 == "") == (in.ReferencedSecurityGroupID == "") {
		return api.Errorf("ValidationError", "exactly one of cidrIpv4 and referencedSecurityGroupId must be specified")
	}
	in.IPProtocol = protocolNumber(in.IPProtocol)
	if in.IPProtocol == "-1" {
		if in.FromPort != nil || in.ToPort != nil {
			return api.Errorf("ValidationError", `fromPort and toPort must not be specified with ipProtocol "-1"`)
		}
	} else if in.FromPort == nil || in.ToPort == nil {
		return api.Errorf("ValidationError", "fromPort and toPort are required with ipProtocol %q", in.IPProtocol)
	}
	if in.ReferencedSecurityGroupID != "" {
		return o.checkPeers([]string{in.ReferencedSecurityGroupID})
	}
	return nil
}

// checkNewFlow refuses a rule for a group that is not there, or that it has already.
// Source: EC2 API error codes, InvalidPermission.Duplicate.
func (o *op) checkNewFlow(groupID string, wanted flow) error {
	if err := o.checkGroup(groupID); err != nil {
		return err
	}
	for _, existing := range o.flowsOf(groupID) {
		if existing.same(wanted) {
			return api.Errorf("InvalidPermission.Duplicate", "the specified rule \"peer: %s, %s, ALLOW\" already exists", wanted.peerText(), wanted.protocolText())
		}
	}
	return nil
}

// checkPorts refuses ports with protocol -1, as pulumi-aws does.
func checkPorts(protocol string, from, to int) error {
	if protocolNumber(protocol) == "-1" && (from != 0 || to != 0) {
		return api.Errorf("ValidationError", `fromPort (%d) and toPort (%d) must both be 0 to use the 'ALL' "-1" protocol`, from, to)
	}
	if from > to {
		return api.Errorf("InvalidParameterValue", "Invalid port range (%d to %d).", from, to)
	}
	return nil
}

// protocolNumber writes every spelling of "all" as AWS does.
func protocolNumber(protocol string) string {
	if protocol == "all" {
		return "-1"
	}
	return protocol
}

func (f flow) protocolText() string {
	if f.protocol == "-1" {
		return "ALL"
	}
	return fmt.Sprintf("%s, from port: %d, to port: %d", f.protocol, f.from, f.to)
}
