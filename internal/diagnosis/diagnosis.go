// Package diagnosis explains why AWS, EKS or Helm could not create, change or delete a resource.
//
// It converts a provider's error to a refusal with cause, evidence, next command and billing. The
// program calls it from an error hook.
package diagnosis

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/region"
	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

// Failure is one resource that could not be created, changed or deleted.
type Failure struct {
	// Type is the resource's type token, Name its name in the program.
	Type, Name string
	// Operation is "create", "update" or "delete".
	Operation string
	// Error is the provider's error.
	Error string
}

// Group is one of the stack's node groups.
type Group struct {
	// InstanceType and Nodes are what the group requests from EC2.
	InstanceType string
	Nodes        int
	// QuotaCode is the quota that the instances count against; empty when it is unknown.
	QuotaCode string
	// VCPUs is what the instances count against that quota.
	VCPUs int
}

// Stack is what is known about the stack before anything is created.
type Stack struct {
	Region      region.Region
	ClusterName string
	// Zone is where the nodes are. OtherZones offer both instance types too.
	Zone       region.Zone
	OtherZones []region.Zone
	// OnePlacement is true where the GPU nodes share a cluster placement group.
	OnePlacement bool
	// Groups holds the node groups by the names of their resources.
	Groups map[string]Group
	// HourlyUSD is the price of the whole stack, GPUHourlyUSD the part that the GPU nodes cost.
	HourlyUSD, GPUHourlyUSD float64
}

// Explain returns a refusal for a failure. The first rule that matches is used; the last one
// matches every failure.
func Explain(f Failure, s Stack) *refusal.Refusal {
	explained := &refusal.Refusal{Evidence: evidence(f.Error), Billing: s.billing()}
	for _, r := range rules() {
		if r.fits(f) {
			explained.Code = r.code
			explained.Cause, explained.Next = r.explain(f, s)
			break
		}
	}
	explained.Summary = fmt.Sprintf("failed: could not %s %s %q (%s)",
		f.Operation, shortType(f.Type), f.Name, explained.Code)
	return explained
}

// billing returns an upper bound. Resources that were created before the failure still cost money,
// including started instances of a failed group.
func (s Stack) billing() string {
	if s.HourlyUSD <= 0 {
		return "an unknown price per hour for what was created so far, until `pulumi destroy`"
	}
	return fmt.Sprintf("at most $%.2f per hour for what was created so far "+
		"($%.2f without GPU nodes) until `pulumi destroy`", s.HourlyUSD, s.HourlyUSD-s.GPUHourlyUSD)
}

// evidence returns AWS's reply without the text that the provider adds.
func evidence(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "1 error occurred:\n\t* ")
	if _, last, ok := strings.Cut(text, "last error: "); ok {
		text = last
	}
	return strings.Join(strings.Fields(screen.Printable(text)), " ")
}

// shortType turns aws:eks/nodeGroup:NodeGroup into aws:eks:NodeGroup.
func shortType(token string) string {
	parts := strings.Split(token, ":")
	if len(parts) != 3 {
		return token
	}
	module, _, _ := strings.Cut(parts[1], "/")
	return parts[0] + ":" + module + ":" + parts[2]
}
