package jobs

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// FindingArrayOutput is an output of []Finding.
type FindingArrayOutput struct{ *pulumi.OutputState }

// ElementType is []Finding.
func (FindingArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Finding]() }

// RankArrayOutput is an output of []Rank.
type RankArrayOutput struct{ *pulumi.OutputState }

// ElementType is []Rank.
func (RankArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Rank]() }

// NodeArrayOutput is an output of []Node.
type NodeArrayOutput struct{ *pulumi.OutputState }

// ElementType is []Node.
func (NodeArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Node]() }

// PodArrayOutput is an output of []Pod.
type PodArrayOutput struct{ *pulumi.OutputState }

// ElementType is []Pod.
func (PodArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Pod]() }

//nolint:gochecknoinits // Pulumi's SDK finds output types in a registry that init functions fill
func init() {
	pulumi.RegisterOutputType(FindingArrayOutput{})
	pulumi.RegisterOutputType(RankArrayOutput{})
	pulumi.RegisterOutputType(NodeArrayOutput{})
	pulumi.RegisterOutputType(PodArrayOutput{})
}
