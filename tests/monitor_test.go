package tests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ray-train-efa/ray-train-efa/internal/mistake"
)

// registration is one resource as the program asked for it.
type registration struct {
	urn, typ, name, parent, provider string
	providers                        map[string]string
	inputs                           resource.PropertyMap
	dependencies                     []string
	replaceOnChanges, ignoreChanges  []string
	remote, custom                   bool
	deleteBeforeReplace, protect     bool
	onError                          []string
	aliases                          []*pulumirpc.Alias
}

// call is one function of a provider as the program called it.
type call struct{ token, provider string }

// monitor is a mock engine that accepts and records all requests. The SDK's own mocks would drop
// what a first preview does not know, and the stack's outputs altogether. Registrations arrive
// concurrently.
type monitor struct {
	pulumirpc.UnimplementedResourceMonitorServer
	pulumirpc.UnimplementedEngineServer

	cloud cloud
	// preview responds like an engine before the first update: no ids, and outputs only where an input
	// says them.
	preview bool
	// ranks is the number of ranks of the training job.
	ranks int
	// breaks maps a resource that cannot be made to what its provider says.
	breaks map[resourceName]string
	// gpuStatus is the status of the GPU node group; empty for one that EKS would create.
	gpuStatus string
	// existing maps a subnet of an earlier update to its zone.
	existing map[string]string

	// changes alter what the program declares, as a mistake in it would.
	changes []mistake.Change

	mu    sync.Mutex
	seen  map[string]registration
	calls []call
	log   []string
	// warnings are those of the log.
	warnings []string
	exports  resource.PropertyMap
	hooks    map[string]*pulumirpc.Callback
	// transforms are those of the whole stack.
	transforms []*pulumirpc.Callback
	// shutDown is true once a resource has failed, which the engine does not survive.
	shutDown bool
}

// keepAll are marshal options that keep all properties.
func keepAll() plugin.MarshalOptions {
	return plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true, KeepResources: true}
}

// GetDeploymentInfo says what today's engines can do. Output values are left out, so that inputs
// stay readable.
func (m *monitor) GetDeploymentInfo(context.Context, *emptypb.Empty) (*pulumirpc.DeploymentInfo, error) {
	return &pulumirpc.DeploymentInfo{
		Project: projectName, Stack: stackName,
		SupportedFeatures: []pulumirpc.ResourceMonitorFeature{
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_SECRETS,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_DELETED_WITH,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_TRANSFORMS,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_RESOURCE_HOOKS,
			pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_ERROR_HOOKS,
		},
	}, nil
}

// RegisterResource remembers the resource and answers with made-up outputs.
func (m *monitor) RegisterResource(
	_ context.Context, in *pulumirpc.RegisterResourceRequest,
) (*pulumirpc.RegisterResourceResponse, error) {
	urn := urnOf(in.GetParent(), in.GetType(), in.GetName())
	if in.GetType() == string(resource.RootStackType) {
		return &pulumirpc.RegisterResourceResponse{Urn: urn}, nil
	}
	inputs, err := plugin.UnmarshalProperties(in.GetObject(), keepAll())
	if err != nil {
		return nil, fmt.Errorf("reading the inputs of %s: %w", urn, err)
	}
	if inputs, err = m.transform(in, inputs); err != nil {
		return nil, err
	}
	if err := m.change(in.GetType(), in.GetName(), inputs); err != nil {
		return nil, err
	}
	made := registration{
		urn: urn, typ: in.GetType(), name: in.GetName(), parent: in.GetParent(), provider: in.GetProvider(),
		providers: in.GetProviders(), inputs: inputs, dependencies: slices.Clone(in.GetDependencies()),
		replaceOnChanges: in.GetReplaceOnChanges(), ignoreChanges: in.GetIgnoreChanges(), remote: in.GetRemote(), custom: in.GetCustom(),
		deleteBeforeReplace: in.GetDeleteBeforeReplace(), protect: in.GetProtect(), onError: in.GetHooks().GetOnError(),
		aliases: in.GetAliases(),
	}
	m.mu.Lock()
	_, twice := m.seen[urn]
	m.seen[urn] = made
	m.mu.Unlock()
	if twice {
		return nil, fmt.Errorf("registering %s: duplicate resource URN", urn)
	}
	if reason, ok := m.breaks[resourceName{made.typ, made.name}]; ok {
		return nil, m.refuse(made, reason)
	}
	outputs, err := plugin.MarshalProperties(m.outputs(made), keepAll())
	if err != nil {
		return nil, fmt.Errorf("writing the outputs of %s: %w", urn, err)
	}
	answer := &pulumirpc.RegisterResourceResponse{Urn: urn, Object: outputs}
	if in.GetCustom() && !m.preview {
		answer.Id = in.GetName() + "-id"
	}
	return answer, nil
}

// change applies the changes of a resource to its inputs.
func (m *monitor) change(typ, name string, inputs resource.PropertyMap) error {
	for _, change := range m.changes {
		if change.Type != typ || change.Name != name {
			continue
		}
		if err := change.Apply(inputs, m.inputsOf(change.From)); err != nil {
			return err
		}
	}
	return nil
}

// inputsOf returns the inputs of a resource that was declared before.
func (m *monitor) inputsOf(source *mistake.Source) resource.PropertyMap {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, made := range m.seen {
		if source != nil && made.typ == source.Type && made.name == source.Name {
			return made.inputs
		}
	}
	return nil
}

// outputs returns the inputs, as AWS usually does, with the outputs that each type adds.
func (m *monitor) outputs(made registration) resource.PropertyMap {
	outputs := made.inputs.Copy()
	if made.typ == eksComponent {
		outputs["eksCluster"] = resource.NewProperty(resource.ResourceReference{URN: resource.URN(innerClusterURN(made.urn))})
	}
	if zone, ok := m.existing[made.name]; ok && made.typ == subnet && slices.Contains(made.ignoreChanges, "availabilityZone") {
		// An engine puts the old input in the place of an ignored one.
		outputs["availabilityZone"] = resource.NewProperty(zone)
	}
	if made.typ == nodeGroup && made.name == "gpu" && m.gpuStatus != "" {
		outputs["status"] = resource.NewProperty(m.gpuStatus)
	}
	if !m.preview {
		maps.Copy(outputs, madeUp(made.typ, made.name, m.ranks))
	}
	return outputs
}

// Invoke answers functions of the AWS provider, and the SDK when it looks up the cluster inside
// pulumi-eks's component.
func (m *monitor) Invoke(_ context.Context, in *pulumirpc.ResourceInvokeRequest) (*pulumirpc.ResourceInvokeResponse, error) {
	args, err := plugin.UnmarshalProperties(in.GetArgs(), keepAll())
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of %s: %w", in.GetTok(), err)
	}
	var found resource.PropertyMap
	if in.GetTok() == "pulumi:pulumi:getResource" {
		found = innerCluster(args["urn"].StringValue(), m.preview)
	} else {
		m.mu.Lock()
		m.calls = append(m.calls, call{token: in.GetTok(), provider: in.GetProvider()})
		m.mu.Unlock()
		if found, err = m.cloud.call(in.GetTok(), args); err != nil {
			return nil, err
		}
	}
	answer, err := plugin.MarshalProperties(found, keepAll())
	if err != nil {
		return nil, fmt.Errorf("writing the answer of %s: %w", in.GetTok(), err)
	}
	return &pulumirpc.ResourceInvokeResponse{Return: answer}, nil
}

var errShutDown = errors.New("resource monitor shut down while sending resource outputs")

// RegisterResourceOutputs keeps the stack's outputs.
func (m *monitor) RegisterResourceOutputs(
	_ context.Context, in *pulumirpc.RegisterResourceOutputsRequest,
) (*emptypb.Empty, error) {
	if resource.URN(in.GetUrn()).QualifiedType() != resource.RootStackType {
		return &emptypb.Empty{}, nil
	}
	exports, err := plugin.UnmarshalProperties(in.GetOutputs(), keepAll())
	if err != nil {
		return nil, fmt.Errorf("reading the stack's outputs: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shutDown {
		return nil, errShutDown
	}
	m.exports = exports
	return &emptypb.Empty{}, nil
}

// SignalAndWaitForShutdown has nothing to wait for.
func (m *monitor) SignalAndWaitForShutdown(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// Log keeps what the program says.
func (m *monitor) Log(_ context.Context, in *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, in.GetMessage())
	if in.GetSeverity() == pulumirpc.LogSeverity_WARNING {
		m.warnings = append(m.warnings, in.GetMessage())
	}
	return &emptypb.Empty{}, nil
}

// urnOf names a resource as the engine does.
func urnOf(parent, typ, name string) string {
	parentType := tokens.Type("")
	if urn := resource.URN(parent); parent != "" && urn.QualifiedType() != resource.RootStackType {
		parentType = urn.QualifiedType()
	}
	return string(resource.NewURN(stackName, projectName, parentType, tokens.Type(typ), name))
}
