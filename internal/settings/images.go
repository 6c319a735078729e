package settings

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
)

// Charts are the three Helm charts that the stack installs.
type Charts struct {
	NVIDIA, EFA, KubeRay Chart
	// EFAImageRepository is the image repository of the EFA device plugin. Empty means EKS's own
	// registry in the stack's region.
	EFAImageRepository string
	// TimeoutSeconds is how long one release may take to become ready.
	TimeoutSeconds int
}

// Chart is the origin of a Helm chart.
type Chart struct {
	// Repository is an http(s) chart repository or an oci:// registry folder.
	Repository string
	// Version is the exact chart version.
	Version string
}

var (
	chartForm   = regexp.MustCompile(`^(https?|oci)://[^\s]+$`)
	versionForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([+-][0-9A-Za-z.-]+)?$`)
)

func imageFields() []Field {
	return slices.Concat(
		[]Field{
			{
				Key: "imageRepository", Type: String, Default: "public.ecr.aws/deep-learning-containers/ray",
				Description: "Registry and path, without tag, of the image for the Ray head and the workers.",
				Allowed:     image.RepositoryAllowed,
				set: parsed(image.ParseRepository,
					func(s *Settings) *string { return &s.Image.Repository }),
			},
			{
				Key: "imageDigest", Type: String, Required: true,
				Description: "Digest of that image, sha256:...; `raytrain image pin --stack STACK` writes it.",
				Allowed:     image.DigestAllowed,
				Example:     "sha256:" + strings.Repeat("0", 8) + "...",
				Next:        "raytrain image pin --stack STACK",
				set:         parsed(image.ParseDigest, func(s *Settings) *image.Digest { return &s.Image.Digest }),
			},
		},
		chartFields("nvidia", "the NVIDIA device plugin", "https://nvidia.github.io/k8s-device-plugin",
			"0.20.0", func(s *Settings) *Chart { return &s.Charts.NVIDIA }),
		chartFields("efa", "the EFA device plugin", "https://aws.github.io/eks-charts",
			"v0.5.30", func(s *Settings) *Chart { return &s.Charts.EFA }),
		chartFields("kuberay", "the KubeRay operator", "https://ray-project.github.io/kuberay-helm",
			"1.6.2", func(s *Settings) *Chart { return &s.Charts.KubeRay }),
		[]Field{
			{
				Key: "charts.efa.imageRepository", Type: String, Default: "",
				Description: "Image repository of the EFA device plugin. " +
					"Empty means EKS's registry in awsRegion.",
				Allowed: image.RepositoryAllowed + ", or empty for EKS's registry in awsRegion",
				Example: "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
				set: optional(parsed(image.ParseRepository,
					func(s *Settings) *string { return &s.Charts.EFAImageRepository })),
			},
			{
				Key: "charts.timeoutSeconds", Type: Integer, Default: "300",
				Description: "Seconds to wait for a Helm release to become ready.",
				Allowed:     "10 to 3600",
				set:         between(10, 3600, func(s *Settings) *int { return &s.Charts.TimeoutSeconds }),
			},
		})
}

func chartFields(key, name, repository, version string, at func(*Settings) *Chart) []Field {
	return []Field{
		{
			Key: "charts." + key + ".repository", Type: String, Default: repository,
			Description: "Chart repository of " + name + ".",
			Allowed:     "an http, https or oci address",
			set:         matching(chartForm, func(s *Settings) *string { return &at(s).Repository }),
		},
		{
			Key: "charts." + key + ".version", Type: String, Default: version,
			Description: "Chart version of " + name + ".",
			Allowed:     "an exact chart version",
			set:         matching(versionForm, func(s *Settings) *string { return &at(s).Version }),
		},
	}
}
