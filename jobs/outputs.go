package jobs

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// FindingArrayOutput is an output of []report.Finding.
type FindingArrayOutput struct{ *pulumi.OutputState }

// ElementType returns the type of []report.Finding.
func (FindingArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]report.Finding]() }

// RankArrayOutput is an output of []report.Rank.
type RankArrayOutput struct{ *pulumi.OutputState }

// ElementType returns the type of []report.Rank.
func (RankArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]report.Rank]() }

// NodeArrayOutput is an output of []Node.
type NodeArrayOutput struct{ *pulumi.OutputState }

// ElementType returns the type of []Node.
func (NodeArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Node]() }

// PodArrayOutput is an output of []Pod.
type PodArrayOutput struct{ *pulumi.OutputState }

// ElementType returns the type of []Pod.
func (PodArrayOutput) ElementType() reflect.Type { return reflect.TypeFor[[]Pod]() }

//nolint:gochecknoinits // Pulumi's SDK finds output types in a registry that init functions fill
func init() {
	pulumi.RegisterOutputType(FindingArrayOutput{})
	pulumi.RegisterOutputType(RankArrayOutput{})
	pulumi.RegisterOutputType(NodeArrayOutput{})
	pulumi.RegisterOutputType(PodArrayOutput{})
}
