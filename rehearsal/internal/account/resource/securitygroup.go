package resource

// SecurityGroup is aws:ec2/securityGroup:SecurityGroup.
type SecurityGroup struct {
	Name                string      `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix          string      `json:"namePrefix,omitempty" aws:"replace"`
	Description         string      `json:"description,omitempty" aws:"replace,initial=Managed by Pulumi"`
	VpcID               string      `json:"vpcId,omitempty" aws:"default,replace"`
	RevokeRulesOnDelete bool        `json:"revokeRulesOnDelete,omitempty"`
	Ingress             []GroupRule `json:"ingress,omitempty" aws:"default"`
	Egress              []GroupRule `json:"egress,omitempty" aws:"default"`
	Tagged

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
	Tagged

	ARN                 string `json:"arn,omitempty" aws:"computed"`
	SecurityGroupRuleID string `json:"securityGroupRuleId,omitempty" aws:"computed"`
}
