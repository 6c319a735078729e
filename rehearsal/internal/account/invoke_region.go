package account

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

type partitionResult struct {
	DNSSuffix        string `json:"dnsSuffix"`
	ID               string `json:"id"`
	Partition        string `json:"partition"`
	ReverseDNSPrefix string `json:"reverseDnsPrefix"`
}

func getPartition(*op, struct {
	ID string `json:"id"`
}) (any, error) {
	return partitionResult{DNSSuffix: "amazonaws.com", ID: "aws", Partition: "aws", ReverseDNSPrefix: "com.amazonaws"}, nil
}

type identityResult struct {
	AccountID string `json:"accountId"`
	ARN       string `json:"arn"`
	ID        string `json:"id"`
	UserID    string `json:"userId"`
}

func getCallerIdentity(o *op, _ struct {
	ID string `json:"id"`
}) (any, error) {
	return identityResult{AccountID: o.AccountID, ARN: o.callerARN(), ID: o.AccountID, UserID: "AIDAREHEARSAL00000000"}, nil
}

type regionResult struct {
	Description string `json:"description"`
	Endpoint    string `json:"endpoint"`
	ID          string `json:"id"`
	Name        string `json:"name"`
}

func getRegion(o *op, args struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
}) (any, error) {
	if args.Name != "" && args.Name != o.Region {
		return nil, api.Errorf("ValidationError", "region %q is not the rehearsed region %q", args.Name, o.Region)
	}
	return regionResult{Description: "rehearsed " + o.Region, Endpoint: "ec2." + o.Region + ".amazonaws.com", ID: o.Region, Name: o.Region}, nil
}

type zonesArgs struct {
	AllAvailabilityZones bool     `json:"allAvailabilityZones"`
	ExcludeNames         []string `json:"excludeNames"`
	ExcludeZoneIDs       []string `json:"excludeZoneIds"`
	Filters              []filter `json:"filters"`
	State                string   `json:"state"`
}

type zonesResult struct {
	ID         string   `json:"id"`
	Names      []string `json:"names"`
	ZoneIDs    []string `json:"zoneIds"`
	GroupNames []string `json:"groupNames"`
}

func getAvailabilityZones(o *op, args zonesArgs) (any, error) {
	byName := map[string]zone{}
	var names []string
	for _, z := range o.zones() {
		if slices.Contains(args.ExcludeNames, z.Name) || slices.Contains(args.ExcludeZoneIDs, z.ID) {
			continue
		}
		byName[z.Name] = z
		names = append(names, z.Name)
	}
	names, err := only(names, args.Filters, func(name, key string) (string, bool) {
		switch key {
		case "opt-in-status":
			return "opt-in-not-required", true
		case "zone-type":
			return "availability-zone", true
		case "zone-name":
			return name, true
		case "zone-id":
			return byName[name].ID, true
		case "region-name", "group-name":
			return o.Region, true
		case "state":
			return "available", true
		default:
			return "", false
		}
	})
	if err != nil {
		return nil, err
	}
	if args.State != "" && args.State != "available" {
		names = []string{}
	}
	result := zonesResult{ID: o.Region, Names: names, ZoneIDs: []string{}, GroupNames: []string{o.Region}}
	for _, name := range names {
		result.ZoneIDs = append(result.ZoneIDs, byName[name].ID)
	}
	return result, nil
}

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

func getServiceQuota(o *op, args quotaArgs) (any, error) {
	for _, q := range serviceQuotas() {
		if q.Service != args.ServiceCode || args.QuotaCode != q.Code && (args.QuotaCode != "" || args.QuotaName != q.Name) {
			continue
		}
		arn := o.arn("servicequotas", q.Service+"/"+q.Code)
		return quotaResult{
			Adjustable: true, ARN: arn, DefaultValue: q.Default, ID: arn, QuotaCode: q.Code, QuotaName: q.Name,
			ServiceCode: q.Service, ServiceName: q.ServiceName, UsageMetrics: []string{}, Value: o.quota(q.Code),
		}, nil
	}
	var known []string
	for _, q := range serviceQuotas() {
		known = append(known, q.Service+"/"+q.Code)
	}
	// Source: Service Quotas API, GetServiceQuota, NoSuchResourceException.
	return nil, api.Errorf("NoSuchResourceException", "The request failed because the specified service or quota does not exist: %s/%s%s (rehearsal: it knows %s)", args.ServiceCode, args.QuotaCode, args.QuotaName, strings.Join(known, ", ")).WithStatus(404)
}

type parameterArgs struct {
	Name           string `json:"name"`
	WithDecryption *bool  `json:"withDecryption"`
}

type parameterResult struct {
	ARN           string `json:"arn"`
	ID            string `json:"id"`
	InsecureValue string `json:"insecureValue"`
	Name          string `json:"name"`
	Type          string `json:"type"`
	Value         string `json:"value"`
	Version       int    `json:"version"`
}

// getParameter answers for the public parameters of the EKS AMIs.
// Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs":
// /aws/service/eks/optimized-ami/VERSION/amazon-linux-2023/ARCH/VARIANT/recommended/WHAT.
func getParameter(o *op, args parameterArgs) (any, error) {
	missing := api.Errorf("ParameterNotFound", "couldn't find SSM Parameter %q", args.Name)
	parts := strings.Split(strings.TrimPrefix(args.Name, "/aws/service/eks/optimized-ami/"), "/")
	if !strings.HasPrefix(args.Name, "/aws/service/eks/optimized-ami/") || len(parts) != 6 || parts[1] != "amazon-linux-2023" || parts[4] != "recommended" {
		return nil, missing
	}
	version, ok := versionNamed(parts[0])
	variants := []string{"standard", "nvidia", "neuron"}
	if !ok || !slices.Contains(variants, parts[3]) || parts[2] != "x86_64" && parts[2] != "arm64" {
		return nil, missing
	}
	release := version.latestRelease()
	var value string
	switch parts[5] {
	case "release_version":
		value = release
	case "image_id":
		value = "ami-" + stableHex("AL2023_x86_64_"+strings.ToUpper(parts[3])+release, 17)
	default:
		return nil, missing
	}
	return parameterResult{
		ARN: "arn:aws:ssm:" + o.Region + "::parameter" + args.Name, ID: args.Name, InsecureValue: value,
		Name: args.Name, Type: "String", Value: value, Version: 1,
	}, nil
}
