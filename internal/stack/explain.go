package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// The names of the hooks in the state of every resource.
const (
	failureHook     = "explain-failure"
	gateFailureHook = "gate-failed"
)

// controlPlaneType is the type of the EKS cluster inside pulumi-eks's component.
const controlPlaneType = "aws:eks/cluster:Cluster"

// explainFailures registers an error hook that prints why a resource failed, the next command and
// the price, which AWS's errors do not contain. The hook never requests a retry. It covers the
// control plane inside pulumi-eks's component too, but not the training job, which explains its own
// failures.
func (r reporter) explainFailures(s settings.Settings, plan capacity.Plan) error {
	planned := describeStack(s, plan)
	ctx := r.ctx
	hook, err := ctx.RegisterErrorHook(failureHook, func(args *pulumi.ErrorHookArgs) (bool, error) {
		explained := diagnosis.Explain(diagnosis.Failure{
			Type: string(args.Type), Name: args.Name, Operation: args.FailedOperation,
			Error: lastError(args.Errors),
		}, r.zone.correct(planned))
		if err := r.append(explained); err != nil {
			return false, err
		}
		if err := ctx.Log.Error(explained.Error(), nil); err != nil {
			return false, err
		}
		r.failure.hold()
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("registering the hook that explains failures: %w", err)
	}
	gateHook, err := ctx.RegisterErrorHook(gateFailureHook, func(*pulumi.ErrorHookArgs) (bool, error) {
		r.failure.hold()
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("registering the hook of the training job: %w", err)
	}
	binding := &pulumi.ResourceHookBinding{OnError: []*pulumi.ErrorHook{hook}}
	gateBinding := &pulumi.ResourceHookBinding{OnError: []*pulumi.ErrorHook{gateHook}}
	type result = pulumi.ResourceTransformationResult
	err = ctx.RegisterStackTransformation(func(args *pulumi.ResourceTransformationArgs) *result {
		switch {
		case explains(args.Type):
			return &result{Props: args.Props, Opts: append(args.Opts, pulumi.ResourceHooks(binding))}
		case args.Type == jobs.TrainingJobToken:
			return &result{Props: args.Props, Opts: append(args.Opts, pulumi.ResourceHooks(gateBinding))}
		default:
			return nil
		}
	})
	if err != nil {
		return fmt.Errorf("adding the hook to every resource: %w", err)
	}
	// Resources of the pulumi-eks component can be changed only by this transform. It changes only the
	// control plane, which is the resource that AWS refuses (zones, quota, name). Other resources have
	// resource references as inputs, which the SDK drops in a transform.
	type transformed = pulumi.ResourceTransformResult
	err = ctx.RegisterResourceTransform(
		func(_ context.Context, args *pulumi.ResourceTransformArgs) *transformed {
			if args.Type != controlPlaneType || args.Opts.Hooks != nil {
				return nil
			}
			options := args.Opts
			options.Hooks = binding
			return &transformed{Props: args.Props, Opts: options}
		})
	if err != nil {
		return fmt.Errorf("adding the hook to the resources of components: %w", err)
	}
	return nil
}

// explains reports whether failures of a type are explained: everything that AWS or Kubernetes
// creates.
func explains(typ string) bool {
	return strings.HasPrefix(typ, "aws:") || strings.HasPrefix(typ, "kubernetes:")
}

// lastError returns the last error of a resource, which the engine lists first.
func lastError(errors []string) string {
	if len(errors) == 0 {
		return "the provider gave no reason"
	}
	return errors[0]
}

func describeStack(s settings.Settings, plan capacity.Plan) diagnosis.Stack {
	known := diagnosis.Stack{
		Region: s.AWSRegion, ClusterName: s.ClusterName, Zone: plan.Zone, OtherZones: plan.OtherZones,
		OnePlacement: s.GPU.Placement != settings.NoPlacement, Groups: map[string]diagnosis.Group{},
		HourlyUSD: plan.Estimate.HourlyUSD(), GPUHourlyUSD: plan.Estimate.USDOf(plan.GPU.Name),
	}
	for _, group := range []struct {
		name     string
		nodes    int
		instance capacity.InstanceType
	}{{"gpu", s.GPU.Nodes, plan.GPU}, {"system", s.System.Nodes, plan.System}} {
		code, _ := capacity.QuotaCode(group.instance.Name)
		known.Groups[group.name] = diagnosis.Group{
			InstanceType: group.instance.Name, Nodes: group.nodes,
			QuotaCode: code, VCPUs: group.nodes * group.instance.VCPUs,
		}
	}
	return known
}
