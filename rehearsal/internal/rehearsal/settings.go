package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// settings returns the settings of the stack, the only difference between a rehearsal and AWS.
func (r *Rehearsal) settings(ctx context.Context) (map[string]any, error) {
	status, err := r.daemon.Status(ctx)
	if err != nil {
		return nil, err
	}
	fault := r.options.Fault
	digest, ok := status.Digests[fault.Image]
	if !ok {
		return nil, fmt.Errorf("choosing the image for fault %q: the registry has no build %q",
			fault.Name, fault.Image)
	}
	values := map[string]string{
		"awsRegion":                region,
		"publicAccessCidrs":        `["203.0.113.0/24"]`, // EKS refuses loopback
		"imageRepository":          status.ImageRepository,
		"imageDigest":              digest,
		"charts.timeoutSeconds":    "90",
		"ray.headObjectStoreMiB":   "128",
		"ray.workerObjectStoreMiB": "128",
		"job.model":                "tiny",
		"job.device":               "cpu",
		"job.steps":                "4",
		"job.sequenceLength":       "32",
		"job.startupSeconds":       "400",
		// A healthy job ends in under a minute on an idle machine with two cores. The rest is for
		// busy ones.
		"job.deadlineSeconds": "400",
		"job.evidenceDir":     filepath.Join(r.options.Dir, "evidence"),
	}
	for prefix, chart := range map[string]charts.Chart{
		"charts.nvidia": charts.NVIDIADevicePlugin, "charts.efa": charts.EFADevicePlugin, "charts.kuberay": charts.KubeRayOperator,
	} {
		values[prefix+".repository"] = status.ChartURL + "/" + fault.ChartRepository(chart)
		values[prefix+".version"] = status.ChartVersions[chart]
	}
	if fault.Pin == faults.Unpinned {
		values["job.environment"] = `{"NCCL_NET":""}`
	}
	maps.Copy(values, fault.Settings)
	maps.Copy(values, r.options.Settings)
	if values["job.entrypoint"] != "" { // the built-in training does not run
		for _, key := range []string{"job.model", "job.steps", "job.sequenceLength"} {
			if _, set := r.options.Settings[key]; !set {
				delete(values, key)
			}
		}
	}
	return typed(values), nil
}

// typed gives each string the type of its setting. Values of another type stay strings, which the
// program reports.
func typed(values map[string]string) map[string]any {
	types := map[string]settings.Type{}
	for _, field := range settings.Fields() {
		types[field.Key] = field.Type
	}
	out := make(map[string]any, len(values))
	for key, text := range values {
		var value any = text
		kind, known := types[key]
		if known && kind != settings.String && json.Valid([]byte(text)) && text != "null" {
			value = json.RawMessage(text)
		}
		out[settings.Namespace+":"+key] = value
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
