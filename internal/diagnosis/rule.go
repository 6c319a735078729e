package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
)

// rule explains one kind of failure.
type rule struct {
	code string
	// says lists texts. The rule matches if the error contains one of them at the start of a word,
	// because some codes of AWS contain others: PrivateIpAddressLimitExceeded contains
	// AddressLimitExceeded. A text that begins with * may be the end of a longer code. An empty list
	// matches every error.
	says []string
	// types limits the rule to resources whose type begins with one of these. An empty list
	// matches every type.
	types []string
	// operations limits the rule to these operations. An empty list matches every operation.
	operations []string
	explain    func(f Failure, s Stack) (cause, next string)
}

func (r rule) fits(f Failure) bool {
	anyOf := func(list []string, match func(string) bool) bool {
		return len(list) == 0 || slices.ContainsFunc(list, match)
	}
	return anyOf(r.says, func(text string) bool { return contains(f.Error, text) }) &&
		anyOf(r.types, func(prefix string) bool { return strings.HasPrefix(f.Type, prefix) }) &&
		anyOf(r.operations, func(operation string) bool { return operation == f.Operation })
}

// contains reports whether message has text at the beginning of a word, or, with *, anywhere.
func contains(message, text string) bool {
	if ending, ok := strings.CutPrefix(text, "*"); ok {
		return strings.Contains(message, ending)
	}
	for from := 0; ; from++ {
		at := strings.Index(message[from:], text)
		if at < 0 {
			return false
		}
		from += at
		before, _ := utf8.DecodeLastRuneInString(message[:from])
		if from == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
	}
}

// groupID finds the name that EKS gave a node group in the error of the AWS provider.
var groupID = regexp.MustCompile(`EKS Node Group \([^:()]+:([^()]+)\)`)

// fixed returns an explanation in which {region}, {cluster}, {name}, {group}, {operation} and {again}
// are filled in. {again} is the command that tries again: a deletion is part of pulumi destroy, or of
// a pulumi up that replaces the resource.
func fixed(cause, next string) func(Failure, Stack) (string, string) {
	return func(f Failure, s Stack) (string, string) {
		group := "GROUP"
		if match := groupID.FindStringSubmatch(f.Error); match != nil {
			group = match[1]
		}
		fill := strings.NewReplacer(
			"{region}", string(s.Region), "{cluster}", s.ClusterName, "{name}", f.Name, "{group}", group,
			"{operation}", f.Operation, "{again}", again(f))
		return fill.Replace(cause), fill.Replace(next)
	}
}

// again returns the command that tries a failed operation again.
func again(f Failure) string {
	if f.Operation == deletion {
		return "run the same command again"
	}
	return "pulumi up"
}

func interrupted(f Failure, _ Stack) (cause, next string) {
	cause = "the update was interrupted while it waited for this resource"
	if f.Operation == deletion {
		return cause, "run the same command again; it continues the deletion"
	}
	return cause, "pulumi up continues it; if it says that the resource already exists, raytrain recover --import"
}

func otherFailure(f Failure, _ Stack) (cause, next string) {
	next = "fix that, then " + again(f)
	if f.Operation != deletion {
		next += "; or pulumi destroy, which deletes what was created"
	}
	return "the provider failed; see the evidence", next
}

func noCapacity(f Failure, s Stack) (cause, next string) {
	instances := "instances"
	if group, ok := s.Groups[f.Name]; ok {
		instances = fmt.Sprintf("%d x %s", group.Nodes, group.InstanceType)
	}
	cause = fmt.Sprintf("AWS currently has no capacity for %s in %s; this is not a quota problem", instances, s.Zone)
	next = anotherZone(s)
	if f.Name == "gpu" && s.OnePlacement {
		cause += ". All of them must fit into one placement group, which may be the reason"
		next += "; or, without the group: pulumi config set --path gpu.placement none && pulumi up"
	}
	return cause, next
}

func unsupported(f Failure, s Stack) (cause, next string) {
	instance := "the instance type"
	if group, ok := s.Groups[f.Name]; ok {
		instance = group.InstanceType
	}
	return fmt.Sprintf("EC2 does not offer %s in %s, or not with these options (placement group, interfaces, AMI)",
		instance, s.Zone), anotherZone(s)
}

func zoneUnsupported(_ Failure, _ Stack) (cause, next string) {
	return "EKS does not support control planes in one of the zones",
		"pulumi destroy, then pulumi config set availabilityZone ZONE && pulumi up"
}

// anotherZone returns the commands that move the nodes.
func anotherZone(s Stack) string {
	if len(s.OtherZones) == 0 {
		return fmt.Sprintf("pulumi destroy (stops the cost), and pulumi up later: "+
			"no other zone of %s offers these types", s.Region)
	}
	return fmt.Sprintf("pulumi config set availabilityZone %s && pulumi up (replaces only the node "+
		"groups), or pulumi up again later, in %s", s.OtherZones[0], s.Zone)
}

func vcpuQuota(f Failure, s Stack) (cause, next string) {
	group, ok := s.Groups[f.Name]
	if !ok || group.QuotaCode == "" {
		return "the account's vCPU quota does not allow these instances",
			fmt.Sprintf("aws service-quotas list-service-quotas --service-code ec2 --region %s", s.Region)
	}
	// The preview command adds what the rest of the account uses; here it is not known.
	return fmt.Sprintf("%d x %s need %d vCPU of quota %s, and the account's other instances leave less",
			group.Nodes, group.InstanceType, group.VCPUs, group.QuotaCode),
		"pulumi preview (prints the command with what the account uses besides), or at least " +
			capacity.IncreaseCommand(group.QuotaCode, group.VCPUs, s.Region)
}

// unreachable explains an API server that does not answer. Before a deletion the question is whether
// the cluster still runs.
func unreachable(f Failure, s Stack) (cause, next string) {
	const describe = "aws eks describe-cluster --name {cluster} --region {region} --query cluster."
	if f.Operation == deletion {
		return fixed("the API server cannot be reached, so nothing in the cluster can be deleted; "+
			"the nodes cost money meanwhile",
			describe+"status; if ACTIVE: pulumi destroy again later, or from an address in "+
				"publicAccessCidrs; if the cluster is gone or does not recover: "+
				"PULUMI_K8S_DELETE_UNREACHABLE=true pulumi refresh, then pulumi destroy (the state forgets "+
				"what is in the cluster; load balancers and volumes that it made are left and cost money)")(f, s)
	}
	return fixed("the API server cannot be reached from this machine: the machine's address is "+
		"not in publicAccessCidrs, or its credentials are not accepted",
		describe+"resourcesVpcConfig; curl -s https://checkip.amazonaws.com; "+
			"then pulumi config set --path 'publicAccessCidrs[0]' ADDRESS/32 && pulumi up")(f, s)
}
