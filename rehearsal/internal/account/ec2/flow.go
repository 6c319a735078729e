package ec2

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// flow is one security group rule.
type flow struct {
	ingress  bool
	protocol string
	from, to int
	cidrs    []string
	// peers are the groups in the rule, including its own.
	peers []string
}

// flowsOf returns all rules of a group: inline rules, separate rule resources and rules made by
// AWS, without those removed by a fault.
func flowsOf(o *store.Op, groupID string) []flow {
	var all []flow
	if group, ok := SecurityGroups.In(o)[groupID]; ok {
		for _, rule := range group.Ingress {
			all = append(all, inlineFlow(rule, groupID, true))
		}
		for _, rule := range group.Egress {
			all = append(all, inlineFlow(rule, groupID, false))
		}
	}
	for _, id := range SecurityGroupRules.In(o).IDs() {
		if rule := SecurityGroupRules.In(o)[id]; rule.SecurityGroupID == groupID {
			all = append(all, ruleFlow(rule))
		}
	}
	for _, id := range IngressRules.In(o).IDs() {
		if rule := IngressRules.In(o)[id]; rule.SecurityGroupID == groupID {
			all = append(all, vpcFlow(rule, true))
		}
	}
	for _, id := range EgressRules.In(o).IDs() {
		if rule := EgressRules.In(o)[id]; rule.SecurityGroupID == groupID {
			all = append(all, vpcFlow(rule, false))
		}
	}
	return slices.DeleteFunc(all, func(f flow) bool { return stripped(o, groupID, f) })
}

// stripped reports whether a fault removes a rule.
func stripped(o *store.Op, groupID string, f flow) bool {
	if f.ingress || !slices.Contains(f.peers, groupID) {
		return false
	}
	if o.Faults.StripSelfEgress {
		return true
	}
	group, ok := SecurityGroups.In(o)[groupID]
	return ok && o.Faults.StripClusterSelfEgress && strings.HasPrefix(group.MadeBy, "eks:")
}

func inlineFlow(rule GroupRule, groupID string, ingress bool) flow {
	f := flow{
		ingress: ingress, protocol: protocolNumber(rule.Protocol), from: rule.FromPort,
		to:    rule.ToPort,
		cidrs: rule.CidrBlocks, peers: slices.Clone(rule.SecurityGroups),
	}
	if rule.Self {
		f.peers = append(f.peers, groupID)
	}
	return f
}

func ruleFlow(rule *SecurityGroupRule) flow {
	f := flow{
		ingress: rule.Type == "ingress", protocol: protocolNumber(rule.Protocol),
		from: rule.FromPort, to: rule.ToPort,
		cidrs: append(slices.Clone(rule.CidrBlocks), rule.IPv6CidrBlocks...),
	}
	switch {
	case rule.Self:
		f.peers = []string{rule.SecurityGroupID}
	case rule.SourceSecurityGroupID != "":
		f.peers = []string{rule.SourceSecurityGroupID}
	}
	return f
}

func vpcFlow(rule *VpcSecurityGroupRule, ingress bool) flow {
	f := flow{ingress: ingress, protocol: protocolNumber(rule.IPProtocol)}
	if rule.FromPort != nil {
		f.from = *rule.FromPort
	}
	if rule.ToPort != nil {
		f.to = *rule.ToPort
	}
	if rule.CidrIpv4 != "" {
		f.cidrs = []string{rule.CidrIpv4}
	}
	if rule.ReferencedSecurityGroupID != "" {
		f.peers = []string{rule.ReferencedSecurityGroupID}
	}
	return f
}

// same reports whether two rules are identical for EC2: direction, protocol, ports and a peer.
func (f flow) same(other flow) bool {
	if f.ingress != other.ingress || f.protocol != other.protocol || f.from != other.from ||
		f.to != other.to {
		return false
	}
	return Intersect(f.cidrs, other.cidrs) || Intersect(f.peers, other.peers)
}

// Intersect reports whether two lists have a common element.
func Intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

func (f flow) peerText() string {
	return strings.Join(append(slices.Clone(f.cidrs), f.peers...), ", ")
}

// all reports whether the rule covers every protocol and port.
func (f flow) all() bool { return f.protocol == "-1" }

// covers reports whether the rule allows a TCP port.
func (f flow) covers(port int) bool {
	return f.all() || (f.protocol == "tcp" || f.protocol == "6") && f.from <= port && port <= f.to
}

// AllowsSelf reports whether a group allows all traffic from and to itself. EFA needs both, and a
// CIDR rule does not replace them.
// Source: EC2 user guide, "Prepare an EFA-enabled security group".
func AllowsSelf(o *store.Op, groupID string) (ingress, egress bool) {
	for _, f := range flowsOf(o, groupID) {
		if f.all() && slices.Contains(f.peers, groupID) {
			ingress = ingress || f.ingress
			egress = egress || !f.ingress
		}
	}
	return ingress, egress
}

// CanConnect reports whether TCP connections from interfaces with some groups reach a port of
// interfaces with other groups. CIDR rules are checked against the addresses.
func CanConnect(o *store.Op, from []string, fromAddress string, to []string, toAddress string,
	port int) bool {
	leaves := slices.ContainsFunc(from, func(group string) bool {
		return slices.ContainsFunc(flowsOf(o, group), func(f flow) bool {
			return !f.ingress && f.covers(port) &&
				(Intersect(f.peers, to) || InAnyBlock(toAddress, f.cidrs))
		})
	})
	if !leaves || len(to) == 0 {
		return leaves
	}
	return slices.ContainsFunc(to, func(group string) bool {
		return slices.ContainsFunc(flowsOf(o, group), func(f flow) bool {
			return f.ingress && f.covers(port) &&
				(Intersect(f.peers, from) || InAnyBlock(fromAddress, f.cidrs))
		})
	})
}

// InAnyBlock reports whether an address lies in one of some blocks.
func InAnyBlock(address string, blocks []string) bool {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(blocks, func(block string) bool {
		prefix, err := netip.ParsePrefix(block)
		return err == nil && prefix.Contains(parsed)
	})
}
