package cycle

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
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

// How long a rehearsed job may take. A healthy one ends in under a minute on an
// idle machine with two cores; the bound is for busy ones. A hang has written
// all its lines long before its own bound, so that one may be short.
const (
	jobDeadlineSeconds  = "400"
	hangDeadlineSeconds = "90"
)

// settings are the stack's settings: all that may differ between a rehearsal
// and AWS, and nothing else.
func (r *Rehearsal) settings(ctx context.Context) (map[string]any, error) {
	status, err := r.daemon.Status(ctx)
	if err != nil {
		return nil, err
	}
	fault := r.options.Fault
	digest, ok := status.Digests[string(imageVariant(fault.Image))]
	if !ok {
		return nil, fmt.Errorf("choosing the image for fault %q: the registry has no build %q", fault.Name, imageVariant(fault.Image))
	}
	values := map[string]string{
		"awsRegion":                 region,
		"publicAccessCidrs":         `["203.0.113.0/24"]`, // EKS refuses loopback
		"imageRepository":           status.Repository,
		"imageDigest":               digest,
		"charts.nvidia.repository":  status.ChartURLs[string(charts.NVIDIADevicePlugin)],
		"charts.nvidia.version":     status.ChartVersions[string(charts.NVIDIADevicePlugin)],
		"charts.efa.repository":     status.ChartURLs[efaChart(fault)],
		"charts.efa.version":        status.ChartVersions[string(charts.EFADevicePlugin)],
		"charts.kuberay.repository": status.ChartURLs[string(charts.KubeRayOperator)],
		"charts.kuberay.version":    status.ChartVersions[string(charts.KubeRayOperator)],
		"charts.timeoutSeconds":     "90",
		"ray.headObjectStoreMiB":    "128",
		"ray.workerObjectStoreMiB":  "128",
		"job.model":                 "tiny",
		"job.device":                "cpu",
		"job.steps":                 "4",
		"job.sequenceLength":        "32",
		"job.startupSeconds":        "400",
		"job.deadlineSeconds":       jobDeadlineSeconds,
		"job.evidenceDir":           filepath.Join(r.options.Dir, "evidence"),
	}
	if fault.Pin == faults.Unpinned {
		values["job.environment"] = `{"NCCL_NET":""}`
	}
	if fault.NoSelfEgress || fault.Image == faults.ImageNoPluginOnOne {
		values["job.deadlineSeconds"] = hangDeadlineSeconds
	}
	maps.Copy(values, r.options.Settings)
	return typed(values), nil
}

// typed gives each text the type that Pulumi.yaml declares, which the Pulumi CLI
// insists on. A text that is not of that type stays one: the program says
// better than the CLI what is wrong with it.
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

func imageVariant(image faults.Image) images.Variant {
	switch image {
	case faults.ImageNoPlugin:
		return images.WithoutPlugin
	case faults.ImageNoPluginOnOne:
		return images.OneRankWithoutPlugin
	case faults.ImageCrash:
		return images.Crashing
	case faults.ImageWhole:
	}
	return images.Complete
}

func efaChart(fault faults.Fault) string {
	if fault.NoEFAPlugin {
		return charts.StaleEFARepository
	}
	return string(charts.EFADevicePlugin)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
