package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Type is the type of a setting as Pulumi.yaml declares it.
type Type string

// The types that a Pulumi project file knows.
const (
	String  Type = "string"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
)

// Field is one setting: what Pulumi.yaml declares of it, how it is checked and where it goes.
type Field struct {
	// Key is the name without namespace. A name with dots is a path: `pulumi config set --path gpu.nodes 2`.
	Key string
	// Type is the declared type.
	Type Type
	// Default is the value when none is set, in the engine's text form; meaningless when Required.
	Default string
	// Required settings have no default, because no value would be right for everybody.
	Required bool
	// Allowed says which values can be used.
	Allowed string
	// Example is a usable value; of an array or an object, that of one member.
	Example string
	// Member is the path of the member that Example is for and MemberType its type in the words of `pulumi config set --type`. Only
	// objects have them.
	Member, MemberType string
	// Next is the command that sets it, where that is not the usual one of its type.
	Next string

	set func(*Settings, string) error
}

// command sets the example. Without --path the CLI stores a text, whatever it looks like, and the engine then refuses that where
// Pulumi.yaml declares an array or an object; with it the CLI stores what looks like a number or a boolean as one.
// Source: `pulumi config set --help`.
func (f Field) command() string {
	switch {
	case f.Next != "":
		return f.Next
	case f.Type == Array:
		return fmt.Sprintf("pulumi config set --path '%s[0]' '%s'", f.Key, f.Example)
	case f.Type == Object:
		return fmt.Sprintf("pulumi config set --path --type %s '%s' '%s'", f.MemberType, f.Member, f.Example)
	default:
		return fmt.Sprintf("pulumi config set %s%s '%s'", pathFlag(f.Key), f.Key, f.Example)
	}
}

// Fields lists every setting; Pulumi.yaml is held to it by a test.
func Fields() []Field { return fields() }

var (
	regionForm   = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)
	zoneForm     = regexp.MustCompile(`^([a-z]{2}(-[a-z]+)+-[0-9][a-z])?$`)
	clusterForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	minorForm    = regexp.MustCompile(`^1\.[0-9]{2}$`)
	releaseForm  = regexp.MustCompile(`^1\.[0-9]{2}\.[0-9]+-[0-9]{8}$`)
	instanceForm = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
	digestForm   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	repoForm     = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+$`)
	chartForm    = regexp.MustCompile(`^(https?|oci)://[^\s]+$`)
	versionForm  = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([+-][0-9A-Za-z.-]+)?$`)
	rayForm      = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	labelForm    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// arnForm leaves out sts's arn:aws:sts::...:assumed-role/..., which EKS refuses as the principal of an access entry, ten minutes later.
	// Source: EKS user guide, "Create access entries": the principal is an IAM role or user.
	arnForm = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$`)
)

func fields() []Field {
	var all []Field
	for _, group := range [][]Field{placeFields(), nodeFields(), imageFields(), rayFields(), jobFields(), costFields()} {
		all = append(all, group...)
	}
	return all
}

func placeFields() []Field {
	return []Field{
		{Key: "awsRegion", Type: String, Default: "us-east-2", Allowed: "an AWS region", Example: "us-east-2",
			set: matching(regionForm, func(s *Settings) *string { return &s.Region })},
		{Key: "clusterName", Type: String, Default: "ray-train-efa",
			Allowed: "1 to 100 letters, digits, dashes and underscores, letter or digit first", Example: "ray-train-efa",
			set: matching(clusterForm, func(s *Settings) *string { return &s.ClusterName })},
		{Key: "kubernetesVersion", Type: String, Default: "1.36", Allowed: "an EKS minor version", Example: "1.36",
			set: matching(minorForm, func(s *Settings) *string { return &s.KubernetesVersion })},
		{Key: "vpcCidr", Type: String, Default: "10.42.0.0/16", Allowed: "an IPv4 block of private addresses from /16 to /20",
			Example: "10.42.0.0/16", set: setVPC},
		{Key: "availabilityZone", Type: String, Default: "", Allowed: "a zone of awsRegion, or empty to choose one",
			Example: "us-east-2a", set: matching(zoneForm, func(s *Settings) *string { return &s.Zone })},
		{Key: "publicAccessCidrs", Type: Array, Required: true,
			Allowed: "IPv4 blocks that may reach the API server, or [] to keep it inside the VPC", Example: "203.0.113.7/32",
			Next: `pulumi config set --path 'publicAccessCidrs[0]' "$(curl -s https://checkip.amazonaws.com)/32"`,
			set:  setPublicAccess},
		{Key: "adminPrincipalArns", Type: Array, Default: "[]",
			Allowed: "ARNs of IAM roles or users, without the one that runs Pulumi; of a role its own ARN (aws iam get-role --role-name NAME), " +
				"not the assumed-role one that aws sts get-caller-identity prints",
			Example: "arn:aws:iam::123456789012:role/ml-team", set: setAdmins},
		{Key: "logRetentionDays", Type: Integer, Default: "30",
			Allowed: "1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365 or 400", Example: "30", set: setRetention},
	}
}

func nodeFields() []Field {
	return []Field{
		{Key: "gpu.instanceType", Type: String, Default: "g6.12xlarge", Allowed: "an EC2 instance type with GPUs and EFA",
			Example: "g6.12xlarge", set: matching(instanceForm, func(s *Settings) *string { return &s.GPU.InstanceType })},
		{Key: "gpu.nodes", Type: Integer, Default: "2", Allowed: "2 to 512: one node has no traffic between nodes to judge",
			Example: "2", set: between(2, 512, func(s *Settings) *int { return &s.GPU.Nodes })},
		{Key: "gpu.amiRelease", Type: String, Default: "1.36.2-20260714", Allowed: "an EKS AMI release for kubernetesVersion",
			Example: "1.36.2-20260714", set: matching(releaseForm, func(s *Settings) *string { return &s.GPU.AMIRelease })},
		{Key: "gpu.volumeGiB", Type: Integer, Default: "200", Allowed: "100 to 16384: the image alone takes some 30 GiB unpacked",
			Example: "200", set: between(100, 16384, func(s *Settings) *int { return &s.GPU.VolumeGiB })},
		{Key: "system.instanceType", Type: String, Default: "m7i.xlarge", Allowed: "an EC2 instance type of x86-64",
			Example: "m7i.xlarge", set: matching(instanceForm, func(s *Settings) *string { return &s.System.InstanceType })},
		{Key: "system.nodes", Type: Integer, Default: "1", Allowed: "1 to 10", Example: "1",
			set: between(1, 10, func(s *Settings) *int { return &s.System.Nodes })},
		{Key: "system.amiRelease", Type: String, Default: "1.36.2-20260714", Allowed: "an EKS AMI release for kubernetesVersion",
			Example: "1.36.2-20260714", set: matching(releaseForm, func(s *Settings) *string { return &s.System.AMIRelease })},
		{Key: "system.volumeGiB", Type: Integer, Default: "100", Allowed: "50 to 16384: the head runs the same image as the workers",
			Example: "100", set: between(50, 16384, func(s *Settings) *int { return &s.System.VolumeGiB })},
	}
}

func imageFields() []Field {
	chart := func(key, repository, version string, at func(*Settings) *Chart) []Field {
		return []Field{
			{Key: "charts." + key + ".repository", Type: String, Default: repository, Allowed: "an http, https or oci address",
				Example: repository, set: matching(chartForm, func(s *Settings) *string { return &at(s).Repository })},
			{Key: "charts." + key + ".version", Type: String, Default: version, Allowed: "an exact chart version",
				Example: version, set: matching(versionForm, func(s *Settings) *string { return &at(s).Version })},
		}
	}
	all := []Field{
		{Key: "imageRepository", Type: String, Default: "public.ecr.aws/deep-learning-containers/ray",
			Allowed: "registry and path, without tag or digest", Example: "public.ecr.aws/deep-learning-containers/ray",
			set: matching(repoForm, func(s *Settings) *string { return &s.Image.Repository })},
		{Key: "imageDigest", Type: String, Required: true, Allowed: "sha256: and 64 hexadecimal digits; a tag floats",
			Example: "sha256:" + strings.Repeat("0", 8) + "...", Next: "raytrain image pin train-ml-cuda-v1.1",
			set: matching(digestForm, func(s *Settings) *string { return &s.Image.Digest })},
	}
	all = append(all, chart("nvidia", "https://nvidia.github.io/k8s-device-plugin", "0.20.0",
		func(s *Settings) *Chart { return &s.Charts.NVIDIA })...)
	all = append(all, chart("efa", "https://aws.github.io/eks-charts", "v0.5.30",
		func(s *Settings) *Chart { return &s.Charts.EFA })...)
	all = append(all, chart("kuberay", "https://ray-project.github.io/kuberay-helm", "1.6.2",
		func(s *Settings) *Chart { return &s.Charts.KubeRay })...)
	return append(all,
		Field{Key: "charts.efa.imageRepository", Type: String, Default: "",
			Allowed: "registry and path, or empty for EKS's registry in awsRegion",
			Example: "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
			set:     optional(matching(repoForm, func(s *Settings) *string { return &s.Charts.EFAImage }))},
		Field{Key: "charts.timeoutSeconds", Type: Integer, Default: "300", Allowed: "10 to 3600", Example: "300",
			set: seconds(10, 3600, func(s *Settings) *duration { return &s.Charts.Timeout })},
	)
}

func rayFields() []Field {
	return []Field{
		{Key: "ray.version", Type: String, Default: "2.58.0", Allowed: "the version of Ray in the image, 2.52.0 or later",
			Example: "2.58.0", set: matching(rayForm, func(s *Settings) *string { return &s.Ray.Version })},
		{Key: "ray.namespace", Type: String, Default: "ray", Allowed: "a Kubernetes namespace name", Example: "ray",
			set: matching(labelForm, func(s *Settings) *string { return &s.Ray.Namespace })},
		{Key: "ray.headCpu", Type: String, Default: "3", Allowed: "a Kubernetes CPU quantity that fits a system node beside its other pods",
			Example: "3", set: quantity(func(s *Settings) *string { return &s.Ray.HeadCPU })},
		{Key: "ray.headMemory", Type: String, Default: "10Gi",
			Allowed: "a Kubernetes memory quantity that fits a system node beside its other pods", Example: "10Gi",
			set: quantity(func(s *Settings) *string { return &s.Ray.HeadMemory })},
		{Key: "ray.headObjectStoreMiB", Type: Integer, Default: "1024", Allowed: "75 to 1048576, well below ray.headMemory",
			Example: "1024", set: between(75, 1<<20, func(s *Settings) *int { return &s.Ray.HeadObjectStoreMiB })},
		{Key: "ray.workerObjectStoreMiB", Type: Integer, Default: "16384", Allowed: "75 to 1048576, well below the node's memory",
			Example: "16384", set: between(75, 1<<20, func(s *Settings) *int { return &s.Ray.WorkerObjectStoreMiB })},
	}
}

func jobFields() []Field {
	return []Field{
		{Key: "job.enabled", Type: Boolean, Default: "true", Allowed: "true or false", Example: "true",
			set: boolean(func(s *Settings) *bool { return &s.Job.Enabled })},
		{Key: "job.model", Type: String, Default: "Qwen/Qwen2.5-1.5B", Allowed: fmt.Sprintf("one of %q", train.Models()),
			Example: "Qwen/Qwen2.5-1.5B", set: oneOf(train.Models(), func(s *Settings) *string { return &s.Job.Training.Model })},
		{Key: "job.device", Type: String, Default: string(train.CUDA), Allowed: fmt.Sprintf("one of %q", train.Devices()),
			Example: string(train.CUDA), set: oneOf(train.Devices(), func(s *Settings) *train.Device { return &s.Job.Training.Device })},
		{Key: "job.steps", Type: Integer, Default: "20", Allowed: "2 to 1000000: the first one warms up", Example: "20",
			set: between(2, 1000000, func(s *Settings) *int { return &s.Job.Training.Steps })},
		{Key: "job.batchSize", Type: Integer, Default: "1", Allowed: "1 to 1024 sequences per rank", Example: "1",
			set: between(1, 1024, func(s *Settings) *int { return &s.Job.Training.BatchSize })},
		{Key: "job.sequenceLength", Type: Integer, Default: "512", Allowed: "8 to 131072 tokens", Example: "512",
			set: between(8, 131072, func(s *Settings) *int { return &s.Job.Training.SequenceLength })},
		{Key: "job.startupSeconds", Type: Integer, Default: "1200", Allowed: "10 to 7200: pulling the image takes minutes",
			Example: "1200", set: seconds(10, 7200, func(s *Settings) *duration { return &s.Job.Startup })},
		{Key: "job.deadlineSeconds", Type: Integer, Default: "1800", Allowed: "10 to 86400", Example: "1800",
			set: seconds(10, 86400, func(s *Settings) *duration { return &s.Job.Deadline })},
		{Key: "job.environment", Type: Object, Default: "{}",
			Allowed: "a map of variable to text; an empty text takes the variable away", Example: "INFO",
			Member: "job.environment.NCCL_DEBUG", MemberType: "string", set: setEnvironment},
		{Key: "job.requireEfaCounters", Type: Boolean, Default: "false", Allowed: "true or false", Example: "false",
			set: boolean(func(s *Settings) *bool { return &s.Job.RequireEFACounters })},
		{Key: "job.requireFiInfo", Type: Boolean, Default: "false", Allowed: "true or false", Example: "false",
			set: boolean(func(s *Settings) *bool { return &s.Job.RequireFIInfo })},
		{Key: "job.evidenceDir", Type: String, Default: "evidence", Allowed: "a folder, relative to the project or absolute",
			Example: "evidence", set: nonEmpty(func(s *Settings) *string { return &s.Job.EvidenceDir })},
	}
}

func costFields() []Field {
	return []Field{
		{Key: "maxHourlyUsd", Type: String, Default: "12.00", Allowed: "USD per hour above which preview and up refuse",
			Example: "12.00", set: setMaxHourly},
		{Key: "prices", Type: Object, Default: "{}", Allowed: "a map of instance type to USD per hour", Example: "4.6016",
			Member: `prices["g6.12xlarge"]`, MemberType: "float", set: setPrices},
	}
}
