package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
)

// failureHook is the name under which resources in the state refer to the hook.
const failureHook = "explain-failure"

// controlPlaneType is the type of the EKS cluster inside pulumi-eks's component.
const controlPlaneType = "aws:eks/cluster:Cluster"

// explainFailures has the engine tell why a resource failed, beside what its provider says: AWS's own words name neither the
// next command nor the price. An error hook is Pulumi's way to see a failure from the program; it never asks for a retry. It
// covers the control plane inside pulumi-eks's component too, and leaves out the training job, which explains itself.
func explainFailures(ctx *pulumi.Context, s settings.Settings, plan capacity.Plan, where *whereabouts) error {
	known := describeStack(s, plan)
	hook, err := ctx.RegisterErrorHook(failureHook, func(args *pulumi.ErrorHookArgs) (bool, error) {
		message := diagnosis.Explain(diagnosis.Failure{
			Type: string(args.Type), Name: args.Name, Operation: args.FailedOperation, Error: newest(args.Errors),
		}, where.within(known)).Render()
		return false, ctx.Log.Error(message, nil)
	})
	if err != nil {
		return fmt.Errorf("registering the hook that explains failures: %w", err)
	}
	binding := &pulumi.ResourceHookBinding{OnError: []*pulumi.ErrorHook{hook}}
	err = ctx.RegisterStackTransformation(func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		if !explained(args.Type) {
			return nil
		}
		return &pulumi.ResourceTransformationResult{Props: args.Props, Opts: append(args.Opts, pulumi.ResourceHooks(binding))}
	})
	if err != nil {
		return fmt.Errorf("adding the hook to every resource: %w", err)
	}
	// What pulumi-eks's component makes passes only the engine, and this transform. It touches the control plane alone, which is
	// what AWS refuses there (zones, quota, name) and whose inputs are plain: the SDK loses resources among a transform's inputs.
	err = ctx.RegisterResourceTransform(func(_ context.Context, args *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
		if args.Type != controlPlaneType || args.Opts.Hooks != nil {
			return nil
		}
		options := args.Opts
		options.Hooks = binding
		return &pulumi.ResourceTransformResult{Props: args.Props, Opts: options}
	})
	if err != nil {
		return fmt.Errorf("adding the hook to the resources of components: %w", err)
	}
	return nil
}

// explained tells whether a type's failures get an explanation: what AWS or Kubernetes makes.
func explained(typ string) bool {
	return strings.HasPrefix(typ, "aws:") || strings.HasPrefix(typ, "kubernetes:")
}

// newest is the last error, which the engine lists first.
func newest(errors []string) string {
	if len(errors) == 0 {
		return "the provider gave no reason"
	}
	return errors[0]
}

func describeStack(s settings.Settings, plan capacity.Plan) diagnosis.Stack {
	known := diagnosis.Stack{
		Region: s.Region, ClusterName: s.ClusterName, Zone: plan.Zone, OtherZones: plan.OtherZones,
		Groups:    map[string]diagnosis.Group{},
		HourlyUSD: plan.Estimate.HourlyUSD(), GPUHourlyUSD: plan.Estimate.USDOf(plan.GPU.Name),
	}
	for _, group := range []struct {
		name     string
		nodes    int
		instance capacity.InstanceType
	}{{"gpu", s.GPU.Nodes, plan.GPU}, {"system", s.System.Nodes, plan.System}} {
		code, _ := capacity.QuotaCode(group.instance.Name)
		known.Groups[group.name] = diagnosis.Group{
			InstanceType: group.instance.Name, Nodes: group.nodes, QuotaCode: code, VCPUs: group.nodes * group.instance.VCPUs,
		}
	}
	return known
}
