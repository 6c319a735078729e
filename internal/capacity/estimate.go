package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Line is one thing that bills by the hour.
type Line struct {
	// What is the thing.
	What string
	// Count is how many there are.
	Count int
	// UnitUSD is the price of one, in USD per hour; meaningless unless Known.
	UnitUSD float64
	// Known is false when no price was found: an invented one would be worse than none.
	Known bool
	// Source says where the price comes from, with its date.
	Source string
}

// USD is the line's price per hour.
func (l Line) USD() float64 { return float64(l.Count) * l.UnitUSD }

// Estimate is the hourly price of the running stack.
type Estimate struct {
	// Lines add up to the total.
	Lines []Line
	// Excluded names what bills too and is not in the total, because it depends on use or is small.
	Excluded []string
}

// HourlyUSD is the total of all known lines.
func (e Estimate) HourlyUSD() float64 {
	total := 0.0
	for _, line := range e.Lines {
		total += line.USD()
	}
	return math.Round(total*1e4) / 1e4
}

// USDOf is the price per hour of the line that is called what; 0 where there is none.
func (e Estimate) USDOf(what string) float64 {
	for _, line := range e.Lines {
		if line.What == what {
			return line.USD()
		}
	}
	return 0
}

// Unknown lists what has no price.
func (e Estimate) Unknown() []string {
	var names []string
	for _, line := range e.Lines {
		if !line.Known {
			names = append(names, line.What)
		}
	}
	return names
}

// Price adds up what the stack costs per hour while it runs, with a control plane of the version that has this support.
func Price(request Request, support Support) Estimate {
	instance := func(group Group) Line {
		line := Line{What: group.Type, Count: group.Nodes}
		if usd, ok := request.Prices[group.Type]; ok {
			line.UnitUSD, line.Known, line.Source = usd, true, "the stack's setting prices"
			return line
		}
		usd, listed := instancePrices()[group.Type]
		if !listed || !slices.Contains(pricedRegions(), request.Region) {
			line.Source = fmt.Sprintf("no price of %s in %s is known here", group.Type, request.Region)
			return line
		}
		line.UnitUSD, line.Known, line.Source = usd, true, PriceSource+", "+PriceDate
		if request.Region != "us-east-1" {
			line.Source += fmt.Sprintf("; taken to hold in %s", request.Region)
		}
		return line
	}
	controlPlane, controlPlaneUSD := controlPlanePrice(request.KubernetesVersion, support)
	service := func(what string, usd float64) Line {
		return Line{What: what, Count: 1, UnitUSD: usd, Known: true, Source: ServiceSource + ", " + ServiceDate}
	}
	volume := request.GPU.Nodes*request.GPU.VolumeGiB + request.System.Nodes*request.System.VolumeGiB
	return Estimate{
		Lines: []Line{
			instance(request.GPU),
			instance(request.System),
			service(controlPlane, controlPlaneUSD),
			service("NAT gateway", natGatewayUSD),
			service("public IPv4 address", publicIPv4USD),
		},
		Excluded: []string{
			fmt.Sprintf("%d GiB of gp3 volumes, about %.3f USD/h", volume, float64(volume)*gp3GiBMonthUSD/hoursPerMonth),
			"the KMS key, about 0.001 USD/h",
			"traffic through the NAT gateway (0.045 USD/GB) and between zones, control-plane logs",
		},
	}
}

// controlPlanePrice words and prices the control plane by its version. Anything but standard support is priced as the dearer one.
func controlPlanePrice(version string, support Support) (what string, usd float64) {
	switch support {
	case StandardSupport:
		return "EKS control plane, standard support", eksClusterUSD
	case ExtendedSupport:
		return fmt.Sprintf("EKS control plane, extended support of Kubernetes %s", version), eksExtendedUSD
	default:
		return fmt.Sprintf("EKS control plane, support of Kubernetes %s unknown (%q) and taken for extended", version, support), eksExtendedUSD
	}
}

// Table is the estimate for people, one line a price.
func (e Estimate) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hourly price while the stack runs: %.4f USD", e.HourlyUSD())
	if unknown := e.Unknown(); len(unknown) > 0 {
		fmt.Fprintf(&b, " and what %s costs", strings.Join(unknown, " and "))
	}
	for _, line := range e.Lines {
		price := "  unknown"
		if line.Known {
			price = fmt.Sprintf("%9.4f", line.USD())
		}
		fmt.Fprintf(&b, "\n  %s  %d x %s  (%s)", price, line.Count, line.What, line.Source)
	}
	for _, what := range e.Excluded {
		fmt.Fprintf(&b, "\n  not in it: %s", what)
	}
	// AWS's own errors, which may end an update half-way, say nothing of this.
	b.WriteString("\n  an update that is refused keeps what it made, and its bill, until `pulumi destroy`")
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
