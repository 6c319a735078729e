package gate

import (
	"context"
	"reflect"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/ray-train-efa/ray-train-efa/provider/proof"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// proofHash identifies what a run with these inputs would prove.
func (t TrainingJob) proofHash(in Inputs) (string, error) {
	return proof.Hash(proof.Subject{
		Code:                  rayapi.PackageName(t.env.Code),
		Entrypoint:            t.env.Entrypoint,
		Training:              in.Training,
		ImageDigest:           in.ImageDigest,
		Environment:           in.Environment,
		LaunchTemplateVersion: in.LaunchTemplateVersion,
		AMIRelease:            in.AMIRelease,
		NodeType:              in.NodeType,
		NodeCount:             in.NodeCount,
		ChartVersions:         in.ChartVersions,
		RayCluster:            in.RayCluster,
		RayClusterSpec:        in.RayClusterSpec,
		Expectations:          in.Expectations,
	})
}

// Diff reports a change for every input that changed, for a proof that is
// missing, and always for a red state: without the last, a refresh would turn
// it green.
func (t TrainingJob) Diff(_ context.Context, req infer.DiffRequest[Inputs, State]) (infer.DiffResponse, error) {
	hash, err := t.proofHash(req.Inputs)
	if err != nil {
		return infer.DiffResponse{}, err
	}
	return changes(req.State, req.Inputs, hash), nil
}

// replaces lists the inputs that move the attempt record elsewhere.
func replaces(property string) bool { return property == "clusterName" || property == "namespace" }

func changes(state State, in Inputs, hash string) p.DiffResponse {
	detail := map[string]p.PropertyDiff{}
	replace := false
	before, after := reflect.ValueOf(state.Inputs), reflect.ValueOf(in)
	for i := range before.NumField() {
		if same(before.Field(i), after.Field(i)) {
			continue
		}
		property := before.Type().Field(i).Tag.Get("pulumi")
		kind := p.Update
		if replaces(property) {
			kind, replace = p.UpdateReplace, true
		}
		detail[property] = p.PropertyDiff{Kind: kind, InputDiff: true}
	}
	if hash != state.ProofHash {
		detail["proofHash"] = p.PropertyDiff{Kind: p.Update}
	}
	if !state.green() {
		detail["verdict"] = p.PropertyDiff{Kind: p.Update}
	}
	return p.DiffResponse{
		HasChanges:   len(detail) > 0,
		DetailedDiff: detail,
		// The old job would hold the GPUs that the new one waits for.
		DeleteBeforeReplace: replace,
	}
}

// same compares two values; an empty map is like none.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Map && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
