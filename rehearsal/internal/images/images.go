// Package images is the container registry of a rehearsal: small but real OCI images, served with
// the OCI distribution protocol, whose entrypoints are programs of this machine. A node agent
// resolves a pod's image here as a kubelet would, so that an unknown name or digest fails as on
// AWS.
package images

import (
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Program is the program that runs in a container of an image.
type Program string

// The programs that a rehearsal's images run. The last four are placeholders that do nothing: the
// node agent does the work of the real ones.
const (
	// RayTrain is the training image: Python with Ray, torch and the NCCL stand-in.
	RayTrain Program = "ray-train"
	// KubeRayOperator is the real operator, built from its published module.
	KubeRayOperator Program = "kuberay-operator"
	// NVIDIADevicePlugin makes nvidia.com/gpu allocatable where it runs.
	NVIDIADevicePlugin Program = "nvidia-device-plugin"
	// EFADevicePlugin makes vpc.amazonaws.com/efa allocatable where it runs.
	EFADevicePlugin Program = "efa-device-plugin"
	// CoreDNS replaces EKS's coredns add-on.
	CoreDNS Program = "coredns"
	// VPCCNI replaces EKS's vpc-cni add-on, whose DaemonSet is called aws-node.
	VPCCNI Program = "vpc-cni"
	// KubeProxy replaces EKS's kube-proxy add-on.
	KubeProxy Program = "kube-proxy"
	// PodIdentityAgent replaces EKS's eks-pod-identity-agent add-on.
	PodIdentityAgent Program = "eks-pod-identity-agent"
)

// Labels of an image's configuration, in addition to those that OCI defines.
const (
	// ProgramLabel holds the Program of an image.
	ProgramLabel = "ray-train-efa.program"
	// DevicePluginLabel holds the extended resource that a running container of the image makes
	// allocatable on its node.
	DevicePluginLabel = "ray-train-efa.device-plugin"
	// RehearsedLabel marks every image of a rehearsal, so that none is mistaken for a real one.
	RehearsedLabel = "ray-train-efa.rehearsed"
)

// Image is what a node agent needs to run a container.
type Image struct {
	// Ref is the reference in the pod's spec.
	Ref string
	// ID has the form of imageID in a pod's status: registry/repository@digest.
	ID string
	// Digest is the manifest's digest, "sha256:...".
	Digest string
	// Program is the image's program; "" for an image that is not of this package.
	Program Program
	// Env, Entrypoint, Cmd and WorkingDir are those of the image's configuration. A pod's command
	// replaces Entrypoint and Cmd, its args replace Cmd.
	Env        []string
	Entrypoint []string
	Cmd        []string
	WorkingDir string
	// DevicePlugin is the extended resource, such as "nvidia.com/gpu", that a Running container of
	// this image makes allocatable on its node; "" for none.
	DevicePlugin string
}

func imageOf(ref, id, digest string, config v1.Config) Image {
	return Image{
		Ref:          ref,
		ID:           id,
		Digest:       digest,
		Program:      Program(config.Labels[ProgramLabel]),
		Env:          config.Env,
		Entrypoint:   config.Entrypoint,
		Cmd:          config.Cmd,
		WorkingDir:   config.WorkingDir,
		DevicePlugin: config.Labels[DevicePluginLabel],
	}
}

// IsDevicePlugin reports whether a container of this image publishes devices.
func (i Image) IsDevicePlugin() bool { return strings.TrimSpace(i.DevicePlugin) != "" }
