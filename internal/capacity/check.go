package capacity

import (
	"errors"
	"fmt"
	"slices"
)

// The ways in which Check refuses; each is wrapped with the subject and the next command.
var (
	// ErrNoOffering means that no zone, or not the wanted one, offers the instance types.
	ErrNoOffering = errors.New("not offered")
	// ErrQuota means that AWS would not let the account start the instances.
	ErrQuota = errors.New("quota too low")
	// ErrPrice means that the stack would cost more than allowed, or an unknown amount.
	ErrPrice = errors.New("price refused")
	// ErrUnfit means that an instance type cannot do what the stack needs.
	ErrUnfit = errors.New("instance type unfit")
	// ErrVersion means that EKS makes no cluster of the Kubernetes version.
	ErrVersion = errors.New("version refused")
)

// Check asks source everything that could refuse the stack later and dearer. It reports all refusals at once; the plan
// is complete as far as it could be made even then, so that its price can be shown.
func Check(source Source, request Request) (Plan, error) {
	var plan Plan
	gpu, system, err := describe(source, request)
	if err != nil {
		return plan, err
	}
	plan.GPU, plan.System = gpu, system
	var refusals []error
	if err := fit(gpu); err != nil {
		refusals = append(refusals, err)
	}

	gpuZones, systemZones, err := zonesOf(source, request)
	if err != nil {
		return plan, err
	}
	plan.Zone, plan.ControlPlaneZone, err = chooseZones(request, gpuZones, systemZones)
	if err != nil {
		refusals = append(refusals, err)
	}
	plan.OtherZones = slices.DeleteFunc(intersect(gpuZones, systemZones), func(zone string) bool { return zone == plan.Zone })

	plan.Quotas, err = countQuotas(source, request, gpu, system)
	if err != nil {
		return plan, err
	}
	for _, use := range plan.Quotas {
		if err := use.refusal(request.Region); err != nil {
			refusals = append(refusals, err)
		}
	}

	support, err := source.Support(request.KubernetesVersion)
	if err != nil {
		return plan, fmt.Errorf("asking how EKS supports Kubernetes %q: %w", request.KubernetesVersion, err)
	}
	if err := support.refusal(request); err != nil {
		refusals = append(refusals, err)
	}
	plan.Estimate = Price(request, support)
	if err := plan.Estimate.refusal(request.MaxHourlyUSD); err != nil {
		refusals = append(refusals, err)
	}
	return plan, errors.Join(refusals...)
}

func describe(source Source, request Request) (gpu, system InstanceType, err error) {
	if gpu, err = source.InstanceType(request.GPU.Type); err != nil {
		return gpu, system, fmt.Errorf("describing instance type %q: %w", request.GPU.Type, err)
	}
	if system, err = source.InstanceType(request.System.Type); err != nil {
		return gpu, system, fmt.Errorf("describing instance type %q: %w", request.System.Type, err)
	}
	return gpu, system, nil
}

// refusal is the error for a version of which EKS would make no cluster, which it would say only after the network is made.
func (s Support) refusal(request Request) error {
	if s != "" && s != Unsupported {
		return nil
	}
	says := "does not list it"
	if s != "" {
		says = "says " + string(s)
	}
	return fmt.Errorf("checking kubernetesVersion %q: %w: EKS %s; next: aws eks describe-cluster-versions --region %s "+
		"--query 'clusterVersions[].[clusterVersion,versionStatus]' --output text, then pulumi config set kubernetesVersion VERSION "+
		"and both amiRelease settings", request.KubernetesVersion, ErrVersion, says, request.Region)
}

// fit refuses a GPU group that could never prove anything: without GPUs nothing trains, without EFA nothing rides it.
func fit(gpu InstanceType) error {
	if gpu.GPUs < 1 || gpu.EFAInterfaces < 1 {
		return fmt.Errorf("checking gpu.instanceType %q: %w: it has %d GPUs and %d EFA interfaces, and both are needed; "+
			"next: aws ec2 describe-instance-types --filters Name=network-info.efa-supported,Values=true "+
			"--query 'InstanceTypes[?GpuInfo].InstanceType'", gpu.Name, ErrUnfit, gpu.GPUs, gpu.EFAInterfaces)
	}
	return nil
}
