package gate

import (
	"context"
	"reflect"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
)

// Diff reports a change for every changed input, for a missing proof, and always for a state that
// failed or that contradicts itself or the record in the cluster. Otherwise an update after a failed
// one would succeed without a new job.
func (t TrainingJob) Diff(
	ctx context.Context, req infer.DiffRequest[jobs.Inputs, State],
) (infer.DiffResponse, error) {
	proof, err := t.proof(req.Inputs)
	if err != nil {
		return infer.DiffResponse{}, err
	}
	response := changes(req.State, req.Inputs, proof)
	if !response.DeleteBeforeReplace && t.recordProblem(ctx, req.ID, req.State) != "" {
		response.HasChanges = true
		response.DetailedDiff[verdictOutput] = p.PropertyDiff{Kind: p.Update}
	}
	return response, nil
}

// verdictOutput is the name of the verdict among the outputs.
const verdictOutput = "verdict"

// isPlace reports whether an input determines where the record and the job are. A change replaces
// the resource, because an update would leave the old job running.
func isPlace(property string) bool {
	return slices.Contains([]string{"clusterName", "namespace", "rayCluster"}, property)
}

func changes(state State, in jobs.Inputs, proof attempt.Proof) p.DiffResponse {
	detail := map[string]p.PropertyDiff{}
	replace := false
	before, after := reflect.ValueOf(state.Inputs), reflect.ValueOf(in)
	for i := range before.NumField() {
		if same(before.Field(i), after.Field(i)) {
			continue
		}
		property, _, _ := strings.Cut(before.Type().Field(i).Tag.Get("pulumi"), ",")
		kind := p.Update
		if isPlace(property) {
			kind, replace = p.UpdateReplace, true
		}
		detail[property] = p.PropertyDiff{Kind: kind, InputDiff: true}
	}
	if !proof.Matches(state.ProofHash) {
		detail["proofHash"] = p.PropertyDiff{Kind: p.Update}
	}
	if !state.passed() || state.contradiction() != "" {
		detail[verdictOutput] = p.PropertyDiff{Kind: p.Update}
	}
	return p.DiffResponse{
		HasChanges:   len(detail) > 0,
		DetailedDiff: detail,
		// The old job would use the GPUs that the new one needs.
		DeleteBeforeReplace: replace,
	}
}

// same reports whether two values are equal; an empty map equals a nil one.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Map && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
