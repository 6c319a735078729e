package ec2

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// SecurityGroupRule is aws:ec2/securityGroupRule:SecurityGroupRule.
type SecurityGroupRule struct {
	Type                  string   `json:"type" aws:"required,replace"`
	SecurityGroupID       string   `json:"securityGroupId" aws:"required,replace"`
	Protocol              string   `json:"protocol" aws:"required,replace"`
	FromPort              int      `json:"fromPort" aws:"required,replace"`
	ToPort                int      `json:"toPort" aws:"required,replace"`
	CidrBlocks            []string `json:"cidrBlocks,omitempty" aws:"replace"`
	IPv6CidrBlocks        []string `json:"ipv6CidrBlocks,omitempty" aws:"replace"`
	SourceSecurityGroupID string   `json:"sourceSecurityGroupId,omitempty" aws:"default,replace"`
	Self                  bool     `json:"self,omitempty" aws:"replace"`
	Description           string   `json:"description,omitempty"`

	SecurityGroupRuleID string `json:"securityGroupRuleId,omitempty" aws:"computed"`
}

// VpcSecurityGroupRule is aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule
// and aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule.
type VpcSecurityGroupRule struct {
	SecurityGroupID           string `json:"securityGroupId" aws:"required,replace"`
	IPProtocol                string `json:"ipProtocol" aws:"required"`
	FromPort                  *int   `json:"fromPort,omitempty"`
	ToPort                    *int   `json:"toPort,omitempty"`
	CidrIpv4                  string `json:"cidrIpv4,omitempty"`
	ReferencedSecurityGroupID string `json:"referencedSecurityGroupId,omitempty"`
	Description               string `json:"description,omitempty"`
	schema.Tagged

	ARN                 string `json:"arn,omitempty" aws:"computed"`
	SecurityGroupRuleID string `json:"securityGroupRuleId,omitempty" aws:"computed"`
}

// SecurityGroupRules is the token of SecurityGroupRule.
const SecurityGroupRules store.Token[SecurityGroupRule] = "aws:ec2/securityGroupRule:SecurityGroupRule"

func securityGroupRuleType() store.Type[SecurityGroupRule] {
	return store.Type[SecurityGroupRule]{
		Service:   "EC2",
		CreateAPI: "AuthorizeSecurityGroupIngress",
		UpdateAPI: "UpdateSecurityGroupRuleDescriptions", DeleteAPI: "RevokeSecurityGroupIngress",
		Token:        SecurityGroupRules,
		AffectsNodes: true,
		Parent:       SecurityGroups.String(),
		ParentID:     func(row *SecurityGroupRule) string { return row.SecurityGroupID },
		Create:       createSecurityGroupRule,
	}
}

func createSecurityGroupRule(o *store.Op, in *SecurityGroupRule) (string, error) {
	if in.Type != "ingress" && in.Type != "egress" {
		return "", api.Errorf("ValidationError",
			"expected type to be one of [ingress egress], got %s", in.Type)
	}
	// Source: pulumi-aws, aws.ec2.SecurityGroupRule: self excludes the other peers.
	if in.Self && (len(in.CidrBlocks) > 0 || in.SourceSecurityGroupID != "") {
		return "", api.Errorf("ValidationError",
			`"self": conflicts with cidrBlocks and sourceSecurityGroupId`)
	}
	if !in.Self && len(in.CidrBlocks) == 0 && len(in.IPv6CidrBlocks) == 0 &&
		in.SourceSecurityGroupID == "" {
		return "", api.Errorf("ValidationError",
			"one of cidrBlocks, ipv6CidrBlocks, self or sourceSecurityGroupId must be specified")
	}
	in.Protocol = protocolNumber(in.Protocol)
	if err := checkPorts(in.Protocol, in.FromPort, in.ToPort); err != nil {
		return "", err
	}
	if in.SourceSecurityGroupID != "" {
		if err := checkPeers(o, []string{in.SourceSecurityGroupID}); err != nil {
			return "", err
		}
	}
	wanted := ruleFlow(in)
	if err := checkNewFlow(o, in.SecurityGroupID, wanted); err != nil {
		return "", err
	}
	in.SecurityGroupRuleID = store.NewID("sgr")
	return "sgrule-" + store.RandomHex(10), nil
}

// IngressRules is the token of VpcSecurityGroupRule.
const IngressRules store.Token[VpcSecurityGroupRule] = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"

func ingressRuleType() store.Type[VpcSecurityGroupRule] {
	return store.Type[VpcSecurityGroupRule]{
		Service:   "EC2",
		CreateAPI: "AuthorizeSecurityGroupIngress", UpdateAPI: "ModifySecurityGroupRules",
		DeleteAPI:    "RevokeSecurityGroupIngress",
		Token:        IngressRules,
		AffectsNodes: true,
		Parent:       SecurityGroups.String(),
		ParentID:     func(row *VpcSecurityGroupRule) string { return row.SecurityGroupID },
		Create: func(o *store.Op, in *VpcSecurityGroupRule) (string, error) {
			return createVpcRule(o, in, true)
		},
		Update: func(o *store.Op, _ string, _, in *VpcSecurityGroupRule) error {
			return checkVpcRule(o, in)
		},
	}
}

// EgressRules is the token of VpcSecurityGroupRule.
const EgressRules store.Token[VpcSecurityGroupRule] = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"

func egressRuleType() store.Type[VpcSecurityGroupRule] {
	return store.Type[VpcSecurityGroupRule]{
		Service:   "EC2",
		CreateAPI: "AuthorizeSecurityGroupEgress", UpdateAPI: "ModifySecurityGroupRules",
		DeleteAPI:    "RevokeSecurityGroupEgress",
		Token:        EgressRules,
		AffectsNodes: true,
		Parent:       SecurityGroups.String(),
		ParentID:     func(row *VpcSecurityGroupRule) string { return row.SecurityGroupID },
		Create: func(o *store.Op, in *VpcSecurityGroupRule) (string, error) {
			return createVpcRule(o, in, false)
		},
		Update: func(o *store.Op, _ string, _, in *VpcSecurityGroupRule) error {
			return checkVpcRule(o, in)
		},
	}
}

func createVpcRule(o *store.Op, in *VpcSecurityGroupRule, ingress bool) (string, error) {
	if err := checkVpcRule(o, in); err != nil {
		return "", err
	}
	if err := checkNewFlow(o, in.SecurityGroupID, vpcFlow(in, ingress)); err != nil {
		return "", err
	}
	id := store.NewID("sgr")
	in.SecurityGroupRuleID = id
	in.ARN = o.ARN("ec2", "security-group-rule/"+id)
	return id, nil
}

// checkVpcRule checks a rule that is a separate resource.
// Source: pulumi-aws, aws.vpc.SecurityGroupIngressRule: exactly one peer, and no ports
// with protocol -1.
func checkVpcRule(o *store.Op, in *VpcSecurityGroupRule) error {
	if (in.CidrIpv4 == "") == (in.ReferencedSecurityGroupID == "") {
		return api.Errorf("ValidationError",
			"exactly one of cidrIpv4 and referencedSecurityGroupId must be specified")
	}
	in.IPProtocol = protocolNumber(in.IPProtocol)
	if in.IPProtocol == "-1" {
		if in.FromPort != nil || in.ToPort != nil {
			return api.Errorf("ValidationError",
				`fromPort and toPort must not be specified with ipProtocol "-1"`)
		}
	} else if in.FromPort == nil || in.ToPort == nil {
		return api.Errorf("ValidationError", "fromPort and toPort are required with ipProtocol %q", in.IPProtocol)
	}
	if in.ReferencedSecurityGroupID != "" {
		return checkPeers(o, []string{in.ReferencedSecurityGroupID})
	}
	return nil
}

// checkNewFlow refuses a rule for a group that is not there, or that it has already.
// Source: EC2 API error codes, InvalidPermission.Duplicate.
func checkNewFlow(o *store.Op, groupID string, wanted flow) error {
	if err := checkGroup(o, groupID); err != nil {
		return err
	}
	for _, existing := range flowsOf(o, groupID) {
		if existing.same(wanted) {
			return api.Errorf("InvalidPermission.Duplicate",
				"the specified rule \"peer: %s, %s, ALLOW\" already exists", wanted.peerText(),
				wanted.protocolText())
		}
	}
	return nil
}

// checkPorts refuses ports with protocol -1, as pulumi-aws does.
func checkPorts(protocol string, from, to int) error {
	if protocolNumber(protocol) == "-1" && (from != 0 || to != 0) {
		return api.Errorf("ValidationError",
			`fromPort (%d) and toPort (%d) must both be 0 to use the 'ALL' "-1" protocol`, from, to)
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
