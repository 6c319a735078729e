package images

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// Variant is a build of the training image. All builds are in the registry at once, each under its
// own tag. A fault selects the build by its digest.
type Variant string

// The builds of the training image.
const (
	// Complete contains the aws-ofi-nccl plugin, like AWS's image.
	Complete Variant = "complete"
	// Rebuilt differs from Complete only in its digest.
	Rebuilt Variant = "rebuilt"
)

// variant is one row of the table of builds.
type variant struct {
	name Variant
	// env enables the stand-in's plugin.
	env []string
}

// variants is the table of builds.
func variants() []variant {
	const plugin = "RAYTRAIN_REHEARSAL_PLUGIN=1"
	return []variant{
		{Complete, []string{plugin}},
		{Rebuilt, []string{plugin, "RAYTRAIN_REHEARSAL_BUILD=2"}},
	}
}

// Variants lists every build of the training image.
func Variants() []Variant {
	var names []Variant
	for _, v := range variants() {
		names = append(names, v.name)
	}
	return names
}

const (
	// RayTrainRepository is the training image's repository in this registry.
	RayTrainRepository = "ray-train"
	// RayTrainTag is AWS's floating tag, which the complete build has.
	RayTrainTag = "train-ml-cuda-v1.1"
	// eksRegistryAccount owns the registry of EKS's add-on images in most regions.
	// Source: docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html.
	eksRegistryAccount = "602401143452"
	// chartDefaultRegion is the region that the EFA plugin's chart names by default, whatever the
	// cluster's region (values.yaml of eks-charts).
	chartDefaultRegion = "us-west-2"
	// gpuResource and efaResource are the names that the two plugins register.
	gpuResource = "nvidia.com/gpu"
	efaResource = "vpc.amazonaws.com/efa"
)

// Tag returns the tag of a build of the training image.
func (v Variant) Tag() string {
	if v == Complete {
		return RayTrainTag
	}
	return RayTrainTag + "-" + string(v)
}

// AddonRef returns the reference by which a pod of an EKS add-on names its image in a region.
func AddonRef(region string, program Program) string {
	spec := addonImages()[program]
	return fmt.Sprintf("%s/%s:%s", eksRegistry(region), spec.repository, spec.tag)
}

type repositoryTag struct{ repository, tag string }

// addonImages names the add-ons' images. The tags have the form of EKS's, but their values do not
// matter: the pods of the add-ons and this registry both use this list.
func addonImages() map[Program]repositoryTag {
	return map[Program]repositoryTag{
		CoreDNS:          {"eks/coredns", "v1.13.2-eksbuild.1"},
		VPCCNI:           {"amazon-k8s-cni", "v1.21.1-eksbuild.1"},
		KubeProxy:        {"eks/kube-proxy", "v1-minimal-eksbuild.1"},
		PodIdentityAgent: {"eks/eks-pod-identity-agent", "v0.1.36"},
	}
}

func eksRegistry(region string) string {
	return fmt.Sprintf("%s.dkr.ecr.%s.amazonaws.com", eksRegistryAccount, region)
}

// definition is one image to build: its name, and what it runs.
type definition struct {
	repository, tag string
	program         Program
	// variant is the build of the training image; "" for another image.
	variant      Variant
	devicePlugin string
	entrypoint   []string
	env          []string
	files        []file
}

// catalog returns every image of a rehearsal. The repository of another registry's image starts
// with that registry's name, as in a mirror.
func catalog(config Config) ([]definition, error) {
	standIn, err := readFiles(config.StandIn, "opt/nccl-stand-in")
	if err != nil {
		return nil, err
	}
	placeholder := func(program Program) []string {
		return []string{config.Raytrain, "rehearsal-program", string(program)}
	}
	all := []definition{
		{repository: "quay.io/kuberay/operator", tag: "v1.6.2", program: KubeRayOperator,
			entrypoint: []string{config.Operator}},
		{repository: "nvcr.io/nvidia/k8s-device-plugin", tag: "v0.20.0",
			program:      NVIDIADevicePlugin,
			devicePlugin: gpuResource, entrypoint: placeholder(NVIDIADevicePlugin)},
	}
	for _, region := range config.regions() {
		registry := eksRegistry(region)
		all = append(all, definition{
			repository: registry + "/eks/aws-efa-k8s-device-plugin", tag: "v0.5.20",
			program: EFADevicePlugin, devicePlugin: efaResource, entrypoint: placeholder(EFADevicePlugin),
		})
		for _, program := range []Program{CoreDNS, VPCCNI, KubeProxy, PodIdentityAgent} {
			spec := addonImages()[program]
			all = append(all, definition{
				repository: registry + "/" + spec.repository, tag: spec.tag,
				program: program, entrypoint: placeholder(program),
			})
		}
	}
	for _, v := range variants() {
		all = append(all, definition{
			repository: RayTrainRepository, tag: v.name.Tag(), program: RayTrain, variant: v.name,
			env: append(rayTrainEnv(config), v.env...), files: standIn,
		})
	}
	return all, nil
}

// rayTrainEnv returns the environment of every build of the training image. Only this environment
// enables the stand-in; the training code and the program do not know it.
func rayTrainEnv(config Config) []string {
	return []string{
		"PATH=" + filepath.Join(config.RayVenv, "bin") + ":" + standin.Programs(config.StandIn) +
			":" + systemPath,
		"PYTHONPATH=" + config.StandIn,
		"RAYTRAIN_REHEARSAL=1",
	}
}

// systemPath is a container's PATH if its image sets none.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// regions returns the regions whose EKS registries are served. The chart's default region is one of
// them, because a chart with its default values also starts on AWS.
func (c Config) regions() []string {
	regions := []string{c.Region}
	if !slices.Contains(regions, chartDefaultRegion) {
		regions = append(regions, chartDefaultRegion)
	}
	return regions
}
