// Package diagnosis turns the error of a resource that AWS, EKS or Helm could not make into what a person needs: the cause, the
// evidence, the next command and what bills meanwhile. It is pure; the program calls it from a hook on failed resources.
package diagnosis

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

// Failure is one resource that could not be made, changed or deleted.
type Failure struct {
	// Type is the resource's type token, Name its name in the program.
	Type, Name string
	// Operation is "create", "update" or "delete".
	Operation string
	// Error is what the provider said.
	Error string
}

// Group is one of the stack's node groups.
type Group struct {
	// InstanceType and Nodes are what it asks EC2 for.
	InstanceType string
	Nodes        int
	// VCPUs is what its instances count against the quota QuotaCode, "" where that is unknown.
	QuotaCode string
	VCPUs     int
}

// Stack is what a diagnosis knows of the stack, all of it before anything is made.
type Stack struct {
	Region, ClusterName string
	// Zone is where the nodes are, OtherZones are those that offer both instance types too.
	Zone       string
	OtherZones []string
	// Groups holds the node groups by their resources' names.
	Groups map[string]Group
	// HourlyUSD is the price of the whole stack, GPUHourlyUSD the part of it that the GPU nodes cost.
	HourlyUSD, GPUHourlyUSD float64
}

// Diagnosis is one failure explained.
type Diagnosis struct {
	Failure
	// Code is stable and kebab-case, such as "no-capacity".
	Code string
	// Cause says why, Next what to run about it.
	Cause, Next string
	// Billing says what costs money while nothing is done.
	Billing string
}

// Explain finds the first rule that fits. There is one for every failure: the last fits all.
func Explain(f Failure, s Stack) Diagnosis {
	for _, r := range rules() {
		if !r.fits(f) {
			continue
		}
		cause, next := r.explain(f, s)
		return Diagnosis{Failure: f, Code: r.code, Cause: cause, Next: next, Billing: s.billing()}
	}
	return Diagnosis{Failure: f, Billing: s.billing()} // not reached: the last rule fits all
}

// billing is an upper bound: what was made before the failure stays and bills, and so do those instances of a failed group
// that did start.
func (s Stack) billing() string {
	if s.HourlyUSD <= 0 {
		return "an unknown price per hour for what was made so far, until `pulumi destroy`"
	}
	return fmt.Sprintf("at most $%.2f per hour for what was made so far ($%.2f without GPU nodes) until `pulumi destroy`",
		s.HourlyUSD, s.HourlyUSD-s.GPUHourlyUSD)
}

// The beginnings of a message's lines, by which Parse knows them again.
const (
	causeLine   = "cause:    "
	nextLine    = "next:     "
	billingLine = "billing:  "
)

// Render writes the message: a screen at most, without a final line end.
func (d Diagnosis) Render() string {
	lines := []string{
		fmt.Sprintf("refused: could not %s %s %q (%s)", d.Operation, shortType(d.Type), d.Name, d.Code),
		causeLine + d.Cause,
	}
	label := "evidence: "
	for _, line := range screen.Wrap(evidence(d.Error), screen.Columns-len(label), evidenceLines) {
		lines = append(lines, label+line)
		label = strings.Repeat(" ", len(label))
	}
	return screen.Fit(append(lines, nextLine+d.Next), []string{billingLine + d.Billing}, "")
}

// evidenceLines is how much of a provider's words is shown; the engine prints all of them below the message.
const evidenceLines = 4

// evidence takes the bridge's list of one and its waiter's words off what AWS said at last.
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
