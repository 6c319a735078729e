package workloads

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// untyped converts a typed value to a pulumi.Map.
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

// specFields returns the spec without unset fields, such as null creation times and empty structs.
// The API server would fill in defaults, and Pulumi would report drift.
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
			// rayStartParams is required even if empty: the operator's schema requires it. An empty
			// emptyDir is the source of a volume.
			if len(v) == 0 && key != "rayStartParams" && key != "emptyDir" {
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
