package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/cluster"
)

// RayClusterName names the RayCluster. KubeRay allows at most 53 characters.
const RayClusterName = "train"

// WorkerGroup names the only worker group.
const WorkerGroup = "gpu"

// The ports of a Ray head, Ray's defaults.
const (
	portGCS       = 6379
	portDashboard = 8265
	portClient    = 10001
	portMetrics   = 8080
)

// graceSeconds is the termination grace period of a Ray pod. KubeRay runs `ray start` under bash,
// which does not forward signals, so a pod always uses the whole period. The job is over by then,
// so Kubernetes' default of 30 s has no benefit.
const graceSeconds = 5

// RayClusterSpec describes a RayCluster.
type RayClusterSpec struct {
	// Namespace holds the cluster.
	Namespace string
	// Image is repository@digest, the same for head and workers.
	Image string
	// RayVersion is the version in the image.
	RayVersion string
	// HeadCPU and HeadMemory are the head's requests and limits.
	HeadCPU, HeadMemory string
	// HeadObjectStoreMiB and WorkerObjectStoreMiB limit Ray's object store. The object store is in
	// /dev/shm, a memory-backed volume that counts against the pod's memory limit. Without a limit Ray
	// sizes it by the free space there.
	HeadObjectStoreMiB, WorkerObjectStoreMiB int
	// Workers is the number of worker pods, one per node.
	Workers int
	// Worker is the shape of one.
	Worker WorkerShape
	// Environment is set on the workers.
	Environment map[string]string
}

// NewRayCluster returns the RayCluster in KubeRay's Go types.
func NewRayCluster(spec RayClusterSpec) (*rayv1.RayCluster, error) {
	head, err := headResources(spec)
	if err != nil {
		return nil, err
	}
	worker := workerResources(spec.Worker)
	workers := int32(spec.Workers) //nolint:gosec // settings allow 512 at most
	recreate := rayv1.RayClusterRecreate
	headTemplate, err := marked(headPod(spec, head))
	if err != nil {
		return nil, err
	}
	workerTemplate, err := marked(workerPod(spec, worker))
	if err != nil {
		return nil, err
	}
	return &rayv1.RayCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: RayClusterName, Namespace: spec.Namespace},
		Spec: rayv1.RayClusterSpec{
			RayVersion: spec.RayVersion,
			// The operator creates the token's Secret itself. Without a token, anyone who reaches the Jobs
			// API could run anything.
			AuthOptions: &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
			// Without this a changed pod template never reaches a pod
			// (https://github.com/ray-project/kuberay/issues/289).
			UpgradeStrategy: &rayv1.RayClusterUpgradeStrategy{Type: &recreate},
			HeadGroupSpec: rayv1.HeadGroupSpec{
				RayStartParams: map[string]string{
					// Only the driver runs on the head, which has no GPU and no EFA.
					"num-cpus": "0", "num-gpus": "0",
					"object-store-memory": mebibytes(spec.HeadObjectStoreMiB),
				},
				Template: headTemplate,
			},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
				GroupName: WorkerGroup,
				// A fixed size: the verdict is about a fixed number of ranks.
				Replicas: &workers, MinReplicas: &workers, MaxReplicas: &workers,
				NumOfHosts: 1,
				RayStartParams: map[string]string{
					"object-store-memory": mebibytes(spec.WorkerObjectStoreMiB),
				},
				Template: workerTemplate,
			}},
		},
	}, nil
}

// TemplateAnnotation is the annotation with the hash of a pod's template. KubeRay keeps old pods
// when its own version changes together with a template. The gate finds them by comparing the
// hashes.
const TemplateAnnotation = "ray-train-efa/template"

// marked returns the template with its hash as an annotation.
func marked(template corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return template, fmt.Errorf("hashing a pod template: %w", err)
	}
	sum := sha256.Sum256(text)
	template.Annotations = map[string]string{TemplateAnnotation: hex.EncodeToString(sum[:])[:16]}
	return template, nil
}

func headPod(spec RayClusterSpec, resources corev1.ResourceRequirements) corev1.PodTemplateSpec {
	no, grace := false, int64(graceSeconds)
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{cluster.RoleLabel: cluster.SystemRole},
		// The training code does not use the Kubernetes API.
		AutomountServiceAccountToken:  &no,
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name:  "ray-head",
			Image: spec.Image,
			// The image enables the NVIDIA runtime, which does not exist on the head's node.
			Env: []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}},
			Ports: []corev1.ContainerPort{
				{Name: "gcs-server", ContainerPort: portGCS},
				{Name: "dashboard", ContainerPort: portDashboard},
				{Name: "client", ContainerPort: portClient},
				{Name: "metrics", ContainerPort: portMetrics},
			},
			Resources:       resources,
			SecurityContext: raySecurity(),
			VolumeMounts:    []corev1.VolumeMount{rayFilesMount()},
		}},
		Volumes: []corev1.Volume{rayFilesVolume()},
	}}
}

func workerPod(spec RayClusterSpec, resources corev1.ResourceRequirements) corev1.PodTemplateSpec {
	no, grace := false, int64(graceSeconds)
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector:                  map[string]string{cluster.RoleLabel: cluster.GPURole},
		Tolerations:                   []corev1.Toleration{gpuToleration()},
		AutomountServiceAccountToken:  &no,
		TerminationGracePeriodSeconds: &grace,
		// One worker per node, even if it requests only some of the GPUs.
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
					rayClusterLabel: RayClusterName, rayNodeTypeLabel: string(rayv1.WorkerNode),
				}},
			}},
		}},
		Containers: []corev1.Container{{
			Name:            "ray-worker",
			Image:           spec.Image,
			Env:             variables(spec.Environment),
			Resources:       resources,
			SecurityContext: raySecurity(),
			VolumeMounts:    []corev1.VolumeMount{rayFilesMount()},
		}},
		Volumes: []corev1.Volume{rayFilesVolume()},
	}}
}

// gpuToleration returns the toleration of the GPU nodes' taint.
func gpuToleration() corev1.Toleration {
	return corev1.Toleration{Key: cluster.GPUTaint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
}

func headResources(spec RayClusterSpec) (corev1.ResourceRequirements, error) {
	cpu, err := resource.ParseQuantity(spec.HeadCPU)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("reading the head's CPU %q: %w", spec.HeadCPU, err)
	}
	memory, err := resource.ParseQuantity(spec.HeadMemory)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("reading the head's memory %q: %w", spec.HeadMemory, err)
	}
	return guaranteed(corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}), nil
}

func workerResources(shape WorkerShape) corev1.ResourceRequirements {
	return guaranteed(corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(shape.CPU), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(shape.MemoryGiB)<<30, resource.BinarySI),
		cluster.GPUResource:   *resource.NewQuantity(int64(shape.GPUs), resource.DecimalSI),
		cluster.EFAResource:   *resource.NewQuantity(int64(shape.EFA), resource.DecimalSI),
	})
}

// guaranteed requests exactly the limits, which the Guaranteed quality of service requires.
func guaranteed(list corev1.ResourceList) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}

// variables returns the variables sorted by name, so that the spec does not change with map order.
func variables(env map[string]string) []corev1.EnvVar {
	list := make([]corev1.EnvVar, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, corev1.EnvVar{Name: name, Value: env[name]})
	}
	return list
}

func mebibytes(n int) string { return strconv.Itoa(n << 20) }
