package ec2

import (
	"fmt"
	"sort"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type quotaArgs struct {
	QuotaCode   string `json:"quotaCode"`
	QuotaName   string `json:"quotaName"`
	ServiceCode string `json:"serviceCode"`
}

type quotaResult struct {
	Adjustable   bool     `json:"adjustable"`
	ARN          string   `json:"arn"`
	DefaultValue float64  `json:"defaultValue"`
	GlobalQuota  bool     `json:"globalQuota"`
	ID           string   `json:"id"`
	QuotaCode    string   `json:"quotaCode"`
	QuotaName    string   `json:"quotaName"`
	ServiceCode  string   `json:"serviceCode"`
	ServiceName  string   `json:"serviceName"`
	UsageMetrics []string `json:"usageMetrics"`
	Value        float64  `json:"value"`
}

func getServiceQuota(o *store.Op, args quotaArgs) (any, error) {
	for _, q := range serviceQuotas() {
		if q.Service != args.ServiceCode ||
			args.QuotaCode != q.Code && (args.QuotaCode != "" || args.QuotaName != q.Name) {
			continue
		}
		arn := o.ARN("servicequotas", q.Service+"/"+q.Code)
		return quotaResult{
			Adjustable: true, ARN: arn, DefaultValue: q.Default, ID: arn, QuotaCode: q.Code,
			QuotaName:   q.Name,
			ServiceCode: q.Service, ServiceName: q.ServiceName, UsageMetrics: []string{},
			Value: AppliedQuota(o, q.Code),
		}, nil
	}
	var known []string
	for _, q := range serviceQuotas() {
		known = append(known, q.Service+"/"+q.Code)
	}
	// Source: Service Quotas API, GetServiceQuota, NoSuchResourceException.
	return nil, api.Errorf("NoSuchResourceException",
		"The request failed because the specified service or quota does not exist: %s/%s%s "+
			"(rehearsal: it knows %s)",
		args.ServiceCode, args.QuotaCode, args.QuotaName, strings.Join(known, ", ")).WithStatus(
		404,
	)
}

// Quota codes of Service Quotas. Sources: Service Quotas console, services ec2 and vpc.
const (
	quotaStandard   = "L-1216C47A"
	QuotaG          = "L-DB2E81BA"
	quotaP          = "L-417A185B"
	quotaSpotG      = "L-3819A6DF"
	quotaSpot       = "L-34B43A08"
	QuotaElasticIPs = "L-0263D0A3"
	quotaVpcs       = "L-F678F1CE"
	QuotaClusters   = "L-1194D53C"
)

// serviceQuota is one quota of the account.
type serviceQuota struct {
	Code, Service, ServiceName, Name string
	// Default is AWS's default value; Applied is the value of this account.
	Default, Applied float64
}

// serviceQuotas returns the quotas that the program reads or that this account enforces. The quota
// for G instances is 96 vCPUs: two g6.12xlarge, and none left for a rolling update.
func serviceQuotas() []serviceQuota {
	const ec2 = "Amazon Elastic Compute Cloud (Amazon EC2)"
	return []serviceQuota{
		{
			quotaStandard,
			"ec2",
			ec2,
			"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
			5,
			64,
		},
		{QuotaG, "ec2", ec2, "Running On-Demand G and VT instances", 0, 96},
		{quotaP, "ec2", ec2, "Running On-Demand P instances", 0, 0},
		{quotaSpotG, "ec2", ec2, "All G and VT Spot Instance Requests", 0, 96},
		{
			quotaSpot,
			"ec2",
			ec2,
			"All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
			5,
			64,
		},
		{QuotaElasticIPs, "ec2", ec2, "EC2-VPC Elastic IPs", 5, 5},
		{quotaVpcs, "vpc", "Amazon Virtual Private Cloud (Amazon VPC)", "VPCs per Region", 5, 5},
		{
			QuotaClusters,
			"eks",
			"Amazon Elastic Kubernetes Service (Amazon EKS)",
			"Clusters",
			100,
			100,
		},
	}
}

// AppliedQuota returns the applied value of a quota, including faults.
func AppliedQuota(o *store.Op, code string) float64 {
	if value, ok := o.Faults.Quota[code]; ok {
		return value
	}
	for _, q := range serviceQuotas() {
		if q.Code == code {
			return q.Applied
		}
	}
	return 0
}

// quotaCode returns the code of the vCPU quota that a type counts against.
// Source: EC2 user guide, "On-Demand Instance quotas".
func quotaCode(instanceType string, spot bool) string {
	switch {
	case strings.HasPrefix(instanceType, "g"), strings.HasPrefix(instanceType, "vt"):
		if spot {
			return quotaSpotG
		}
		return QuotaG
	case strings.HasPrefix(instanceType, "p"):
		return quotaP
	case spot:
		return quotaSpot
	default:
		return quotaStandard
	}
}

// vcpuInUse sums the vCPUs of running instances and of reservations against a quota.
// Source: EC2 user guide: capacity reservations count, used or not.
func vcpuInUse(o *store.Op, code string) int {
	sum := 0
	reserved := map[string]int{}
	for _, reservation := range CapacityReservations.In(o) {
		reserved[reservation.InstanceType+"/"+reservation.AvailabilityZone] += reservation.InstanceCount
	}
	for _, found := range Instances.In(o) {
		key := found.Type + "/" + found.Zone
		if reserved[key] > 0 {
			reserved[key]--
		}
		if quotaCode(found.Type, found.Spot) == code {
			sum += vcpus(found.Type)
		}
	}
	for _, reservation := range CapacityReservations.In(o) {
		key := reservation.InstanceType + "/" + reservation.AvailabilityZone
		if quotaCode(reservation.InstanceType, false) == code {
			sum += reserved[key] * vcpus(reservation.InstanceType)
			reserved[key] = 0
		}
	}
	return sum
}

func vcpus(name string) int {
	t, _ := FindInstanceType(name)
	return t.VCPU
}

// CheckFaults returns an error for faults with unknown instance types or quotas.
func CheckFaults(f api.Faults) error {
	for _, list := range [][]api.TypeInZone{f.NoCapacity, f.NotOffered} {
		for _, one := range list {
			if _, ok := FindInstanceType(one.Type); !ok {
				return fmt.Errorf(
					"setting faults: type %q is not an instance type of the rehearsed region",
					one.Type)
			}
		}
	}
	codes := map[string]bool{}
	var known []string
	for _, q := range serviceQuotas() {
		codes[q.Code] = true
		known = append(known, q.Code)
	}
	sort.Strings(known)
	for code := range f.Quota {
		if !codes[code] {
			return fmt.Errorf("setting faults: quota %q is not known; known are %s", code,
				strings.Join(known, ", "))
		}
	}
	return nil
}
