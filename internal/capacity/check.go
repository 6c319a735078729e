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

	gpuZones, err := source.Zones(gpu.Name)
	if err != nil {
		return plan, fmt.Errorf("listing the zones that offer %q: %w", gpu.Name, err)
	}
	systemZones, err := source.Zones(system.Name)
	if err != nil {
		return plan, fmt.Errorf("listing the zones that offer %q: %w", system.Name, err)
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

	plan.Estimate = Price(request)
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

// fit refuses a GPU group that could never prove anything: without GPUs nothing trains, without EFA nothing rides it.
func fit(gpu InstanceType) error {
	if gpu.GPUs < 1 || gpu.EFAInterfaces < 1 {
		return fmt.Errorf("checking gpu.instanceType %q: %w: it has %d GPUs and %d EFA interfaces, and both are needed; "+
			"next: aws ec2 describe-instance-types --filters Name=network-info.efa-supported,Values=true "+
			"--query 'InstanceTypes[?GpuInfo].InstanceType'", gpu.Name, ErrUnfit, gpu.GPUs, gpu.EFAInterfaces)
	}
	return nil
}
