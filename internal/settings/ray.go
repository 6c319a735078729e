package settings

import "regexp"

// Ray is the shape of the RayCluster.
type Ray struct {
	// Version is the Ray version in the image. KubeRay needs it for token authentication.
	Version string
	// Namespace holds the RayCluster and everything that belongs to it.
	Namespace string
	// HeadCPU and HeadMemory are the head's requests and limits, as Kubernetes quantities.
	HeadCPU, HeadMemory string
	// HeadObjectStoreMiB is the head's share of /dev/shm, which counts against its memory limit.
	HeadObjectStoreMiB int
	// WorkerObjectStoreMiB is a worker's share of /dev/shm, which counts against its memory limit.
	WorkerObjectStoreMiB int
}

// OperatorNamespace holds the KubeRay operator alone.
const OperatorNamespace = "kuberay-system"

var (
	rayForm   = regexp.MustCompile(`^([0-9]{1,4})\.([0-9]{1,4})\.[0-9]+$`)
	labelForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func rayFields() []Field {
	return []Field{
		{
			Key: "ray.version", Type: String, Default: "2.58.0",
			Description: "Version of Ray in the image.",
			Allowed:     "the version of Ray in the image, 2.52.0 or later",
			set:         setRayVersion,
		},
		{
			Key: "ray.namespace", Type: String, Default: "ray",
			Description: "Namespace of the RayCluster.",
			Allowed:     "the name of a namespace of the stack's own: not default, kube-* or " + OperatorNamespace,
			set:         setNamespace,
		},
		{
			Key: "ray.headCpu", Type: String, Default: "3",
			Description: "CPU of the Ray head. It must fit on a system node together with the other pods.",
			Allowed:     "a Kubernetes CPU quantity from 100m that fits on a system node together with the other pods",
			set:         quantityBetween("100m", "1k", func(s *Settings) *string { return &s.Ray.HeadCPU }),
		},
		{
			Key: "ray.headMemory", Type: String, Default: "10Gi",
			Description: "Memory of the Ray head, including /dev/shm.",
			Allowed:     "a Kubernetes memory quantity from 1Gi that fits on a system node together with the other pods",
			set:         quantityBetween("1Gi", "24Ti", func(s *Settings) *string { return &s.Ray.HeadMemory }),
		},
		{
			Key: "ray.headObjectStoreMiB", Type: Integer, Default: "1024",
			Description: "Size of the head's object store in MiB. It is part of ray.headMemory.",
			Allowed:     "75 to 1048576, at most half of ray.headMemory",
			set:         between(75, 1<<20, func(s *Settings) *int { return &s.Ray.HeadObjectStoreMiB }),
		},
		{
			Key: "ray.workerObjectStoreMiB", Type: Integer, Default: "16384",
			Description: "Size of a worker's object store in MiB. It is part of the worker's memory.",
			Allowed:     "75 to 1048576, at most half of the worker's memory",
			set:         between(75, 1<<20, func(s *Settings) *int { return &s.Ray.WorkerObjectStoreMiB }),
		},
	}
}
