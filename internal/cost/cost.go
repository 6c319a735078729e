// Package cost says what a stack costs per hour, what it has cost so far, and what another choice
// of nodes would cost. Prices are those of internal/capacity.
package cost

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Stack is what the state of a stack says about its cost.
type Stack struct {
	// Request has the node groups that the state holds, and the region.
	Request capacity.Request
	// HourlyUSD is the price that the last successful update printed, with the prices of its settings;
	// nil when there was none.
	HourlyUSD *float64
	// Since is when the control plane was created; the zero time without one.
	Since time.Time
}

// ErrNothing means that a state has neither node groups nor a control plane.
var ErrNothing = errors.New("the stack has no cluster")

const (
	stackType    = "pulumi:pulumi:Stack"
	clusterType  = "aws:eks/cluster:Cluster"
	groupType    = "aws:eks/nodeGroup:NodeGroup"
	templateType = "aws:ec2/launchTemplate:LaunchTemplate"
)

// stateResource is what this package reads of a resource.
type stateResource struct {
	URN     string
	Type    string
	Created time.Time
	Inputs  struct {
		Version       string
		InstanceTypes []string
		ScalingConfig struct{ DesiredSize int }
		Disks         []struct {
			EBS struct{ VolumeSize int } `json:"ebs"`
		} `json:"blockDeviceMappings"`
	}
	Outputs struct {
		Region    string
		HourlyUSD *float64 `json:"hourlyUsd"`
	}
}

// FromState reads the output of `pulumi stack export`. The error is ErrNothing for an empty stack.
func FromState(exported []byte) (Stack, error) {
	// Resources of other types may have inputs of other types under the same names.
	var state struct {
		Deployment struct{ Resources []json.RawMessage }
	}
	if err := json.Unmarshal(exported, &state); err != nil {
		return Stack{}, fmt.Errorf("reading the state: %w", err)
	}
	var stack Stack
	found := false
	for _, raw := range state.Deployment.Resources {
		var kind struct{ Type string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			return Stack{}, fmt.Errorf("reading a resource of the state: %w", err)
		}
		switch kind.Type {
		case stackType, clusterType, groupType, templateType:
		default:
			continue
		}
		var r stateResource
		if err := json.Unmarshal(raw, &r); err != nil {
			return Stack{}, fmt.Errorf("reading a resource of type %q: %w", kind.Type, err)
		}
		found = found || kind.Type == clusterType || kind.Type == groupType
		stack.add(r)
	}
	if !found {
		return Stack{}, ErrNothing
	}
	return stack, nil
}

// add takes what a resource says.
func (s *Stack) add(r stateResource) {
	group := &s.Request.System
	if strings.HasSuffix(r.URN, "::gpu") {
		group = &s.Request.GPU
	}
	switch r.Type {
	case stackType:
		s.Request.Region, s.HourlyUSD = region.Region(r.Outputs.Region), r.Outputs.HourlyUSD
	case clusterType:
		s.Since, s.Request.KubernetesVersion = r.Created, r.Inputs.Version
	case groupType:
		group.Type, group.Nodes = strings.Join(r.Inputs.InstanceTypes, ","), r.Inputs.ScalingConfig.DesiredSize
	case templateType:
		for _, disk := range r.Inputs.Disks {
			group.VolumeGiB += disk.EBS.VolumeSize
		}
	}
}

// Line is one item of a report.
type Line struct {
	// What is the item's name, and Count how many there are.
	What  string `json:"what"`
	Count int    `json:"count"`
	// UnitUSD is the price of one in USD per hour; nil when unknown.
	UnitUSD *float64 `json:"unitUsd"`
	// Source says where the price comes from, with its date.
	Source string `json:"source"`
}

// Report is the output of `raytrain cost`.
type Report struct {
	Stack  string        `json:"stack,omitempty"`
	Region region.Region `json:"region"`
	// HourlyUSD is the sum of the lines with a known price.
	HourlyUSD float64 `json:"hourlyUsd"`
	Lines     []Line  `json:"lines"`
	// Unknown names the lines without a price; Excluded what no line contains.
	Unknown  []string `json:"unknown"`
	Excluded []string `json:"excluded"`
	// Hours is the asked time, USD the price for it.
	Hours float64 `json:"hours"`
	USD   float64 `json:"usd"`
	// UpdateUSD is the price per hour that the stack's last update printed; it knows the setting prices.
	UpdateUSD *float64 `json:"updateHourlyUsd,omitempty"`
	// Since is when the control plane was created, SpentUSD the price since then at UpdateUSD, as an
	// upper bound: parked GPU nodes cost nothing.
	Since    *time.Time `json:"since,omitempty"`
	SpentUSD *float64   `json:"spentUsd,omitempty"`
}

// Of returns the report of a request for a number of hours. The control plane is priced at standard
// support, because only AWS knows which versions have it.
func Of(request capacity.Request, hours float64) Report {
	estimate := capacity.Price(request, capacity.StandardSupport)
	report := Report{
		Region: request.Region, HourlyUSD: estimate.HourlyUSD(),
		Unknown: append([]string{}, estimate.Unknown()...), Excluded: estimate.Excluded,
		Hours: hours, USD: estimate.HourlyUSD() * hours,
	}
	for _, line := range estimate.Lines {
		one := Line{What: line.What, Count: line.Count, Source: line.Source}
		if line.Known {
			one.UnitUSD = &line.UnitUSD
		}
		report.Lines = append(report.Lines, one)
	}
	return report
}

// Report returns the report of the stack at a time.
func (s Stack) Report(hours float64, now time.Time) Report {
	report := Of(s.Request, hours)
	report.UpdateUSD = s.HourlyUSD
	if !s.Since.IsZero() {
		hourly := report.HourlyUSD
		if s.HourlyUSD != nil {
			hourly = *s.HourlyUSD
		}
		spent := hourly * now.Sub(s.Since).Hours()
		report.Since, report.SpentUSD = &s.Since, &spent
	}
	return report
}

// Text returns the report as a table.
func (r Report) Text() string {
	var b strings.Builder
	for _, line := range r.Lines {
		price := "  unknown"
		if line.UnitUSD != nil {
			price = fmt.Sprintf("%9.4f", float64(line.Count)**line.UnitUSD)
		}
		fmt.Fprintf(&b, "%s  %d x %s  (%s)\n", price, line.Count, line.What, line.Source)
	}
	fmt.Fprintf(&b, "%9.4f  USD per hour in %s", r.HourlyUSD, r.Region)
	if len(r.Unknown) > 0 {
		fmt.Fprintf(&b, ", plus the unknown price of %s", strings.Join(r.Unknown, " and "))
	}
	fmt.Fprintf(&b, "\n%9.2f  USD for %g hours\n", r.USD, r.Hours)
	if r.UpdateUSD != nil && *r.UpdateUSD != r.HourlyUSD {
		fmt.Fprintf(&b, "the last update printed %.4f USD per hour, with its settings\n", *r.UpdateUSD)
	}
	if r.SpentUSD != nil {
		fmt.Fprintf(&b, "so far at most %.2f USD, since %s\n", *r.SpentUSD, r.Since.Format(time.DateTime))
	}
	for _, what := range r.Excluded {
		fmt.Fprintf(&b, "not included: %s\n", what)
	}
	return b.String()
}
