package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Line is one item of the estimate.
type Line struct {
	// What is the item's name.
	What string
	// Count is how many there are.
	Count int
	// UnitUSD is the price of one in USD per hour, if Known.
	UnitUSD float64
	// Known is false when no price was found.
	Known bool
	// Source says where the price comes from, with its date.
	Source string
}

// USD returns the line's price per hour.
func (l Line) USD() float64 { return float64(l.Count) * l.UnitUSD }

// Estimate is the hourly price of the running stack.
type Estimate struct {
	// Lines add up to the total.
	Lines []Line
	// Excluded lists costs that are not in the total, because they depend on use or are small.
	Excluded []string
}

// HourlyUSD returns the total of all known lines.
func (e Estimate) HourlyUSD() float64 {
	total := 0.0
	for _, line := range e.Lines {
		total += line.USD()
	}
	return math.Round(total*1e4) / 1e4
}

// USDOf returns the price per hour of the line with that name; 0 where there is none.
func (e Estimate) USDOf(what string) float64 {
	for _, line := range e.Lines {
		if line.What == what {
			return line.USD()
		}
	}
	return 0
}

// Unknown returns the names of lines without a price.
func (e Estimate) Unknown() []string {
	var names []string
	for _, line := range e.Lines {
		if !line.Known {
			names = append(names, line.What)
		}
	}
	return names
}

// Price returns what the stack costs per hour while it runs. The price of the control plane depends
// on how EKS supports its Kubernetes version.
func Price(request Request, support Support) Estimate {
	instance := func(group Group) Line {
		line := Line{What: group.Type, Count: group.Nodes}
		if group.Prepaid {
			line.Known, line.Source = true, "a Capacity Block, paid in advance"
			return line
		}
		if usd, ok := request.Prices[group.Type]; ok {
			line.UnitUSD, line.Known, line.Source = usd, true, "the setting prices"
			return line
		}
		usd, listed := InstancePrices()[group.Type]
		if !listed || !slices.Contains(pricedRegions(), request.Region) {
			line.Source = fmt.Sprintf("the price of %s in %s is unknown", group.Type, request.Region)
			return line
		}
		line.UnitUSD, line.Known, line.Source = usd, true, dated(PriceSource, PriceDate, request.Today)
		if request.Region != "us-east-1" {
			line.Source += fmt.Sprintf("; assumed for %s", request.Region)
		}
		return line
	}
	controlPlane, controlPlaneUSD := controlPlanePrice(request.KubernetesVersion, support)
	service := func(what string, count int, usd float64) Line {
		line := Line{What: what, Count: count, UnitUSD: usd, Known: true}
		line.Source = dated(ServiceSource, ServiceDate, request.Today)
		if !slices.Contains(pricedRegions(), request.Region) {
			line.Source += fmt.Sprintf("; assumed for %s, where it may be higher", request.Region)
		}
		return line
	}
	size, throughput := 0, 0
	for _, group := range []Group{request.GPU, request.System} {
		size += group.Nodes * group.VolumeGiB
		throughput += group.Nodes * max(group.VolumeThroughput-includedThroughput, 0)
	}
	nodes := request.GPU.Nodes + request.System.Nodes
	estimate := Estimate{
		Lines: []Line{
			instance(request.GPU),
			instance(request.System),
			service(controlPlane, 1, controlPlaneUSD),
			service("NAT gateway", 1, NATGatewayUSD),
			service("public IPv4 address", 1, PublicIPv4USD),
			service("GiB of gp3 volumes", size, gp3GiBUSD),
		},
		Excluded: []string{
			fmt.Sprintf("the download of the image through the NAT gateway, once per node: about %.2f USD for %d nodes "+
				"(none from a registry in ECR of the region)", float64(nodes)*imageGB*natGBUSD, nodes),
			"the KMS key, about 0.001 USD/h",
			"traffic through the NAT gateway (0.045 USD/GB) and between zones, logs",
		},
	}
	if throughput > 0 {
		estimate.Lines = append(estimate.Lines, service(
			fmt.Sprintf("MiB/s of gp3 throughput above %d per volume", includedThroughput), throughput, gp3ThroughputUSD))
	}
	return estimate
}

// controlPlanePrice returns the name and the price of the control plane. All other support states
// have the higher price.
func controlPlanePrice(version string, support Support) (what string, usd float64) {
	switch support {
	case StandardSupport:
		return "EKS control plane, standard support", EKSClusterUSD
	case ExtendedSupport:
		return fmt.Sprintf("EKS control plane, extended support of Kubernetes %s", version), eksExtendedUSD
	default:
		return fmt.Sprintf("EKS control plane, unknown support of Kubernetes %s (%q), assumed to be extended",
			version, support), eksExtendedUSD
	}
}

// Table returns the estimate for people, one line per price.
func (e Estimate) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hourly price while the stack runs: %.4f USD", e.HourlyUSD())
	if unknown := e.Unknown(); len(unknown) > 0 {
		fmt.Fprintf(&b, ", plus the unknown price of %s", strings.Join(unknown, " and "))
	}
	for _, line := range e.Lines {
		price := "  unknown"
		if line.Known {
			price = fmt.Sprintf("%9.4f", line.USD())
		}
		fmt.Fprintf(&b, "\n  %s  %d x %s  (%s)", price, line.Count, line.What, line.Source)
	}
	for _, what := range e.Excluded {
		fmt.Fprintf(&b, "\n  not included: %s", what)
	}
	// The errors of AWS, which may end an update half-way, do not mention this.
	b.WriteString("\n  resources of a failed update cost money until `pulumi destroy`")
	return b.String()
}

// check compares the estimate with the limit. It refuses an unknown price too, because that may be
// above any limit.
func (e Estimate) check(maxHourlyUSD float64) error {
	if unknown := e.Unknown(); len(unknown) > 0 {
		return refuse(CodePrice, "maxHourlyUsd",
			"the price of "+strings.Join(unknown, " and ")+" is unknown",
			fmt.Sprintf("pulumi config set --path --type float 'prices[\"%s\"]' USD_PER_HOUR", unknown[0]))
	}
	if total := e.HourlyUSD(); total > maxHourlyUSD {
		return refuse(CodePrice, "maxHourlyUsd",
			fmt.Sprintf("the stack would cost %.4f USD per hour and %.2f are allowed", total, maxHourlyUSD),
			fmt.Sprintf("pulumi config set maxHourlyUsd %.2f, or choose fewer or smaller nodes",
				math.Ceil(total*100)/100))
	}
	return nil
}
