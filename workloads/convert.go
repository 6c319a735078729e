package workloads

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// untyped turns a typed value into what Pulumi passes on: the one place where types are given up.
func untyped(value any) (pulumi.Map, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing %T as JSON: %w", value, err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("reading %T back: %w", value, err)
	}
	return pulumi.ToMap(fields), nil
}

// specFields is the spec without what Go's types write for fields that are not set: null creation
// times and empty structs, which the API server would answer with defaults of its own, to be seen
// as drift.
func specFields(cluster *rayv1.RayCluster) (map[string]any, error) {
	text, err := json.Marshal(cluster.Spec)
	if err != nil {
		return nil, fmt.Errorf("writing the spec of RayCluster %q: %w", cluster.Name, err)
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("reading the spec of RayCluster %q back: %w", cluster.Name, err)
	}
	prune(spec)
	return spec, nil
}

func prune(fields map[string]any) {
	for key, value := range fields {
		switch v := value.(type) {
		case nil:
			delete(fields, key)
		case map[string]any:
			prune(v)
			// rayStartParams must be there even when empty: the operator's schema requires it.
			if len(v) == 0 && key != "rayStartParams" {
				delete(fields, key)
			}
		case []any:
			for _, item := range v {
				if object, ok := item.(map[string]any); ok {
					prune(object)
				}
			}
		}
	}
}
