package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// QuotaUse is what the stack uses of one quota.
type QuotaUse struct {
	// Service, Code and Name identify the quota in Service Quotas, Unit is what it counts.
	Service, Code, Name, Unit string
	// Needed is what the stack uses, whether it exists already or not.
	Needed int
	// Others is what the rest of the account uses.
	Others int
	// Granted is the applied value.
	Granted float64
}

// check returns a refusal if the quota is too low.
func (u QuotaUse) check(in region.Region) error {
	if float64(u.Needed+u.Others) <= u.Granted {
		return nil
	}
	used := ""
	if u.Others > 0 {
		used = fmt.Sprintf(", %d in use outside this stack", u.Others)
	}
	return refuse(CodeQuota, fmt.Sprintf("quota %s (%s)", u.Code, u.Name),
		fmt.Sprintf("%d %s are needed, %g granted%s", u.Needed, u.Unit, u.Granted, used),
		increaseCommand(u.Service, u.Code, u.Needed+u.Others, in))
}

// IncreaseCommand returns the command that requests an increase of a quota of EC2.
func IncreaseCommand(code string, value int, in region.Region) string {
	return increaseCommand(ec2Service, code, value, in)
}

func increaseCommand(service, code string, value int, in region.Region) string {
	return fmt.Sprintf("aws service-quotas request-service-quota-increase --service-code %s "+
		"--quota-code %s --desired-value %d --region %s", service, code, value, in)
}

// The services that own the quotas.
const (
	ec2Service = "ec2"
	vpcService = "vpc"
)

// quota is an EC2 quota of on-demand instances with the families that it counts.
type quota struct {
	code, name string
	families   []string
}

// onDemandQuotas returns the quotas of the families that this program can use.
// Source: EC2 user guide, "On-Demand Instance quotas", families as listed in 2026.
func onDemandQuotas() []quota {
	return []quota{
		{"L-DB2E81BA", "Running On-Demand G and VT instances", []string{"g", "gr", "vt"}},
		{"L-417A185B", "Running On-Demand P instances", []string{"p"}},
		{"L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
			[]string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}},
	}
}

// countQuotas adds up what the stack and what the rest of the account use.
func (c *check) countQuotas(gpu, system InstanceType) ([]QuotaUse, error) {
	var uses []QuotaUse
	for _, counted := range append(c.instances(gpu, system), c.pieces()...) {
		use, known, err := c.measure(counted)
		if err != nil {
			return nil, err
		}
		if known {
			uses = append(uses, use)
		}
	}
	return uses, nil
}

// counted is a quota with the function that counts what others use.
type counted struct {
	use    QuotaUse
	others func() (int, error)
}

// measure asks AWS what is granted and what others use. Without the first there is nothing to compare;
// without the second, others are taken to use nothing.
func (c *check) measure(counted counted) (use QuotaUse, known bool, err error) {
	use = counted.use
	use.Granted, err = c.source.Quota(use.Service, use.Code)
	if c.unknown.denied(fmt.Sprintf("quota %s (%s)", use.Code, use.Name), err) {
		return use, false, nil
	}
	if err != nil {
		return use, false, fmt.Errorf("reading quota %q (%s): %w", use.Code, use.Name, err)
	}
	use.Others, err = counted.others()
	if c.unknown.denied(fmt.Sprintf("what others use of quota %s (%s)", use.Code, use.Name), err) {
		return use, true, nil
	}
	if err != nil {
		return use, false, fmt.Errorf("counting what uses quota %q (%s): %w", use.Code, use.Name, err)
	}
	return use, true, nil
}

// pieces returns the quotas of the resources that the stack needs once. Sources of the codes: Service
// Quotas, services ec2 and vpc.
func (c *check) pieces() []counted {
	return []counted{
		{QuotaUse{
			Service: ec2Service, Code: "L-0263D0A3", Name: "EC2-VPC Elastic IPs", Unit: "addresses", Needed: 1,
		}, c.source.OtherAddresses},
		{QuotaUse{
			Service: vpcService, Code: "L-F678F1CE", Name: "VPCs per Region", Unit: "VPCs", Needed: 1,
		}, c.source.OtherVPCs},
	}
}

// instances returns the quotas of the vCPUs of both groups, by code. Families without a listed quota
// are not checked.
func (c *check) instances(gpu, system InstanceType) []counted {
	needed := map[string]int{}
	for _, part := range []struct {
		instance InstanceType
		group    Group
	}{{gpu, c.request.GPU}, {system, c.request.System}} {
		if q, ok := quotaOf(part.instance.Name); ok && !part.group.Prepaid {
			needed[q.code] += part.instance.VCPUs * part.group.Nodes
		}
	}
	var list []counted
	for _, q := range onDemandQuotas() {
		if vcpus := needed[q.code]; vcpus > 0 {
			list = append(list, counted{
				QuotaUse{Service: ec2Service, Code: q.code, Name: q.name, Unit: "vCPUs", Needed: vcpus},
				func() (int, error) { return vcpusOfOthers(c.source, q) },
			})
		}
	}
	slices.SortFunc(list, func(a, b counted) int { return strings.Compare(a.use.Code, b.use.Code) })
	return list
}

// vcpusOfOthers adds up the vCPUs of the account's other running instances that count against a
// quota. AWS also counts unused capacity reservations, which the AWS provider cannot list; they are
// not checked here.
func vcpusOfOthers(source Source, q quota) (int, error) {
	types, err := source.OtherInstances(q.families)
	if err != nil {
		return 0, err
	}
	sum := 0
	for name, count := range types {
		if counted, ok := quotaOf(name); !ok || counted.code != q.code {
			continue // a family that only begins with the same letter
		}
		described, err := source.InstanceType(name)
		if err != nil {
			return 0, fmt.Errorf("describing instance type %q: %w", name, err)
		}
		sum += count * described.VCPUs
	}
	return sum, nil
}

// QuotaCode returns the code of the on-demand quota that an instance type counts against, and
// whether one is listed here.
func QuotaCode(instanceType string) (string, bool) {
	q, ok := quotaOf(instanceType)
	return q.code, ok
}

// quotaOf finds the quota by the letters before the first digit of the type's name.
func quotaOf(instanceType string) (quota, bool) {
	end := strings.IndexAny(instanceType, "0123456789.")
	if end < 0 {
		return quota{}, false
	}
	for _, q := range onDemandQuotas() {
		if slices.Contains(q.families, instanceType[:end]) {
			return q, true
		}
	}
	return quota{}, false
}
