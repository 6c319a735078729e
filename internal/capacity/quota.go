package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// QuotaUse is what the stack takes of one EC2 quota.
type QuotaUse struct {
	// Code and Name identify the quota in Service Quotas.
	Code, Name string
	// NeededVCPUs is what the stack's instances count.
	NeededVCPUs int
	// GrantedVCPUs is the applied value, of which other instances of the account may already use a part.
	GrantedVCPUs float64
}

// refusal is the error with the command that asks AWS for more; nil when the quota suffices.
func (u QuotaUse) refusal(region string) error {
	if float64(u.NeededVCPUs) <= u.GrantedVCPUs {
		return nil
	}
	return fmt.Errorf("checking quota %s (%s): %w: %d vCPUs are needed, %g granted; next: %s",
		u.Code, u.Name, ErrQuota, u.NeededVCPUs, u.GrantedVCPUs, IncreaseCommand(u.Code, u.NeededVCPUs, region))
}

// IncreaseCommand is the exact command that asks for a quota.
func IncreaseCommand(code string, vcpus int, region string) string {
	return fmt.Sprintf("aws service-quotas request-service-quota-increase --service-code ec2 --quota-code %s --desired-value %d --region %s",
		code, vcpus, region)
}

// quota is an EC2 quota of on-demand instances and the families that it counts.
type quota struct {
	code, name string
	families   []string
}

// onDemandQuotas are the quotas of the families that this program can use.
// Source: EC2 user guide, "On-Demand Instance quotas", families as listed in 2026.
func onDemandQuotas() []quota {
	return []quota{
		{"L-DB2E81BA", "Running On-Demand G and VT instances", []string{"g", "gr", "vt"}},
		{"L-417A185B", "Running On-Demand P instances", []string{"p"}},
		{"L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
			[]string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}},
	}
}

// countQuotas adds up what both groups take. A family whose quota is unknown here is left to AWS.
func countQuotas(source Source, request Request, gpu, system InstanceType) ([]QuotaUse, error) {
	needed := map[string]int{}
	for _, part := range []struct {
		instance InstanceType
		nodes    int
	}{{gpu, request.GPU.Nodes}, {system, request.System.Nodes}} {
		if q, ok := quotaOf(part.instance.Name); ok {
			needed[q.code] += part.instance.VCPUs * part.nodes
		}
	}
	names := map[string]string{}
	for _, q := range onDemandQuotas() {
		names[q.code] = q.name
	}
	uses := make([]QuotaUse, 0, len(needed))
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		granted, err := source.QuotaVCPUs(code)
		if err != nil {
			return nil, fmt.Errorf("reading quota %q (%s): %w", code, names[code], err)
		}
		uses = append(uses, QuotaUse{Code: code, Name: names[code], NeededVCPUs: needed[code], GrantedVCPUs: granted})
	}
	return uses, nil
}

// QuotaCode is the code of the on-demand quota that an instance type counts against; false where none is known here.
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
