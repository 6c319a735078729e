package capacity

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// The codes of the refusals that Check returns.
const (
	// CodeNotOffered means that no zone, or not the chosen one, offers the instance types.
	CodeNotOffered = "not-offered"
	// CodeQuota means that a quota of the account is too low.
	CodeQuota = "quota-too-low"
	// CodePrice means that the stack would cost more than allowed, or an unknown amount.
	CodePrice = "price-refused"
	// CodeInstanceType means that an instance type lacks GPUs or EFA.
	CodeInstanceType = "instance-type-unfit"
	// CodeVersion means that EKS does not create clusters of the Kubernetes version.
	CodeVersion = "kubernetes-version-refused"
	// CodeAMIRelease means that EKS has no such AMI.
	CodeAMIRelease = "ami-release-not-found"
	// CodeAddon means that EKS has no such version of an add-on.
	CodeAddon = "addon-version-not-found"
)

// check is one run of Check.
type check struct {
	source  Source
	request Request
	// unknown are the questions that AWS denied.
	unknown unknowns
}

// Check reports whether AWS can run the stack. Its error joins all refusals, or is the error of a
// call to AWS. The plan is then as complete as possible, so that the price can be shown. What the AWS
// identity may not ask is in Plan.Unknown, except what the plan cannot do without: instance types and
// zones.
func Check(source Source, request Request) (Plan, error) {
	c := &check{source: source, request: request}
	plan, err := c.run()
	plan.Unknown = c.unknown
	return plan, err
}

func (c *check) run() (Plan, error) {
	var plan Plan
	source, request := c.source, c.request
	gpu, system, err := describe(source, request)
	if err != nil {
		return plan, err
	}
	plan.GPU, plan.System = gpu, system
	refusals := []error{fit(gpu, request.Region)}

	offers, err := zonesOf(source, request)
	if err != nil {
		return plan, err
	}
	plan.Zone, plan.ControlPlaneZone, err = chooseZones(request, offers)
	refusals = append(refusals, err)
	plan.AllZones = offers.all
	plan.OtherZones = slices.DeleteFunc(offers.both(),
		func(zone region.Zone) bool { return zone == plan.Zone })

	plan.Quotas, err = c.countQuotas(gpu, system)
	if err != nil {
		return plan, err
	}
	for _, use := range plan.Quotas {
		refusals = append(refusals, use.check(request.Region))
	}

	support, err := source.Support(request.KubernetesVersion)
	if c.unknown.denied(fmt.Sprintf("the support of Kubernetes %s", request.KubernetesVersion), err) {
		support, err = unknownSupport, nil
	}
	if err != nil {
		return plan, fmt.Errorf("reading the support status of Kubernetes %q in EKS: %w", request.KubernetesVersion, err)
	}
	plan.Estimate = Price(request, support)
	refusals = append(refusals, support.check(request), plan.Estimate.check(request.MaxHourlyUSD))
	versions, err := c.versions()
	if err != nil {
		return plan, err
	}
	return plan, errors.Join(append(refusals, versions...)...)
}

// versions returns refusals of AMI releases and add-on versions. The error is that of a call to AWS.
func (c *check) versions() (refusals []error, err error) {
	keep := func(checked error) {
		if checked != nil && len(refusal.All(checked)) == 0 {
			err = errors.Join(err, checked)
			return
		}
		refusals = append(refusals, checked)
	}
	keep(c.checkRelease("gpu.amiRelease", c.request.GPU, NVIDIAVariant))
	keep(c.checkRelease("system.amiRelease", c.request.System, StandardVariant))
	for _, addon := range c.request.Addons {
		keep(c.checkAddon(addon))
	}
	return refusals, err
}

// refuse returns a refusal. Nothing has been created when Check runs.
func refuse(code, checked, cause, next string) error {
	return &refusal.Refusal{
		Code: code, Summary: "refused: " + checked + " (" + code + ")", Cause: cause, Next: next,
		Billing: refusal.NothingCreated,
	}
}

func describe(source Source, request Request) (gpu, system InstanceType, err error) {
	gpu, err = describeOne(source, request, "gpu.instanceType", request.GPU.Type)
	if err != nil {
		return gpu, system, err
	}
	system, err = describeOne(source, request, "system.instanceType", request.System.Type)
	return gpu, system, err
}

func describeOne(source Source, request Request, setting, name string) (InstanceType, error) {
	described, err := source.InstanceType(name)
	switch {
	case err == nil:
		return described, nil
	// Source: EC2 API reference, "Error codes".
	case strings.Contains(err.Error(), "InvalidInstanceType"):
		return described, refuse(CodeInstanceType, fmt.Sprintf("%s %q", setting, name),
			fmt.Sprintf("EC2 has no such instance type in %s", request.Region),
			fmt.Sprintf("aws ec2 describe-instance-types --region %s --query 'InstanceTypes[].InstanceType', "+
				"then pulumi config set --path %s TYPE", request.Region, setting))
	default:
		return described, fmt.Errorf("describing instance type %q: %w", name, err)
	}
}

// check refuses a version that EKS does not support. EKS itself would refuse it only after the
// network is created.
func (s Support) check(request Request) error {
	if s != "" && s != Unsupported {
		return nil
	}
	cause := "EKS does not list this version"
	if s != "" {
		cause = "EKS reports " + string(s) + " for this version"
	}
	return refuse(CodeVersion, fmt.Sprintf("kubernetesVersion %q", request.KubernetesVersion), cause,
		fmt.Sprintf("aws eks describe-cluster-versions --region %s --query "+
			"'clusterVersions[].[clusterVersion,versionStatus]' --output text, then "+
			"pulumi config set kubernetesVersion VERSION, pulumi config set --path gpu.amiRelease RELEASE "+
			"and pulumi config set --path system.amiRelease RELEASE", request.Region))
}

// fit refuses a GPU instance type without GPUs or EFA.
func fit(gpu InstanceType, where region.Region) error {
	if gpu.GPUs > 0 && gpu.EFAInterfaces > 0 {
		return nil
	}
	return refuse(CodeInstanceType, fmt.Sprintf("gpu.instanceType %q", gpu.Name),
		fmt.Sprintf("it has %d GPUs and %d EFA interfaces, and both are needed; similar types with both: %s",
			gpu.GPUs, gpu.EFAInterfaces, strings.Join(nearest(gpu), ", ")),
		fmt.Sprintf("aws ec2 describe-instance-types --region %s "+
			"--filters Name=network-info.efa-supported,Values=true "+
			"--query 'InstanceTypes[?GpuInfo].InstanceType', "+
			"then pulumi config set --path gpu.instanceType TYPE", where))
}
