package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// seconds returns how long AWS or Kubernetes takes to create a resource: orders of magnitude, not
// measurements. Types without an entry take a second.
// Sources: EKS user guide ("about 10 minutes" for a cluster, "a few minutes" for nodes); the waiters of
// terraform-provider-aws for the rest of AWS; for Helm, the pull of a small image; for the gate, 3
// minutes for the pull of the training image and 1 minute until the first step.
func seconds(made registration) int {
	switch made.typ {
	case eksComponent:
		return 600
	case nodeGroup:
		return 150
	case "aws:ec2/natGateway:NatGateway":
		return 100
	case addon:
		return 40
	case release:
		return 30
	case role:
		return 8
	case trainingJob:
		return 180 + 60
	default:
		return 1
	}
}

// span is when a resource is created, in seconds, and the resource that it waited for last.
type span struct {
	start, end int
	after      string
}

// timeline returns the creation of every resource on a simulated clock, where each one starts as
// soon as what it depends on, its parent and its provider exist.
func timeline(r run) map[string]span {
	known, spans := map[string]registration{}, map[string]span{}
	for _, one := range r.all() {
		known[one.urn] = one
	}
	var visit func(string) span
	visit = func(urn string) span {
		if done, ok := spans[urn]; ok {
			return done
		}
		made, s := known[urn], span{}
		for _, needed := range append(slices.Clone(made.dependencies), made.parent, providerURN(made.provider)) {
			if _, ok := known[needed]; !ok {
				continue
			}
			if before := visit(needed); before.end > s.start {
				s.start, s.after = before.end, needed
			}
		}
		s.end = s.start
		if made.custom || made.remote {
			s.end += seconds(made)
		}
		spans[urn] = s
		return s
	}
	for urn := range known {
		visit(urn)
	}
	return spans
}

// sequential returns the same steps one after another, as the scripts of AWS's sample run them: until
// the first training step, and of that the time with GPU nodes.
func sequential(t *testing.T, r run) (total, withGPUs int) {
	t.Helper()
	before := 0
	for _, step := range []resourceName{
		{"aws:ec2/natGateway:NatGateway", "nat"}, {eksComponent, "eks"}, {addon, "vpc-cni"},
		{nodeGroup, "system"}, {nodeGroup, "gpu"}, {addon, "coredns"}, {release, "nvidia-device-plugin"},
		{release, "aws-efa-k8s-device-plugin"}, {release, "kuberay-operator"}, {trainingJob, "gate"},
	} {
		if step == (resourceName{nodeGroup, "gpu"}) {
			before = total
		}
		total += seconds(r.one(t, step.typ, step.name))
	}
	return total, total - before
}

// The figures of docs/aws.md, "How long it takes", are the log of this test.
func TestCriticalPathToTheFirstStep(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	spans := timeline(r)
	gate := r.one(t, trainingJob, "gate")
	var names, lines []string
	for urn := gate.urn; urn != ""; urn = spans[urn].after {
		name := urn[strings.LastIndex(urn, "::")+2:]
		names = append(names, name)
		lines = append(lines, fmt.Sprintf("%6d %6d  %s", spans[urn].start, spans[urn].end, name))
	}
	slices.Reverse(lines)
	first, paid := spans[gate.urn].end, spans[gate.urn].end-spans[r.one(t, nodeGroup, "gpu").urn].start
	serial, serialPaid := sequential(t, r)
	t.Logf("critical path in seconds:\n%s\nfirst step after %.1f minutes (serial %.1f), "+
		"paid before it: %.1f minutes of each GPU node (serial %.1f)", strings.Join(lines, "\n"),
		float64(first)/60, float64(serial)/60, float64(paid)/60, float64(serialPaid)/60)
	assert.Less(t, float64(first), 0.9*float64(serial))
	assert.Less(t, float64(paid), 0.95*float64(serialPaid))
	assert.Contains(t, names, "eks", "the control plane bounds the time")
}

// Nodes must not wait for each other, nor for anything long but the network and the control plane.
func TestNodesWaitForTheControlPlaneOnly(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	spans := timeline(r)
	control := spans[r.one(t, eksComponent, "eks").urn]
	gpu, system := spans[r.one(t, nodeGroup, "gpu").urn], spans[r.one(t, nodeGroup, "system").urn]
	assert.Less(t, control.start, 120, "only the network comes before it")
	assert.LessOrEqual(t, gpu.start-control.end, 60, "only the CNI comes between")
	assert.Less(t, system.start, gpu.end)
}
