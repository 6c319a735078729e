package workloads

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
)

// podSecurityLevel is a Pod Security Standard.
// Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
type podSecurityLevel string

const (
	// baseline lets pods run as root, as Ray's images do, but not get control of the node.
	baseline podSecurityLevel = "baseline"
	// restricted is what the chart of the KubeRay operator is made for.
	restricted podSecurityLevel = "restricted"
)

// podSecurity returns the labels of a namespace that only accepts pods of a level.
func podSecurity(level podSecurityLevel) pulumi.StringMap {
	return pulumi.StringMap{"pod-security.kubernetes.io/enforce": pulumi.String(string(level))}
}

// raySecurity returns what the container of a Ray pod may do: its processes get no new privileges, and
// system calls are limited as under Docker. Of root's capabilities it keeps those for files, because
// an image may have files of several users; pip and tar change owners.
func raySecurity() *corev1.SecurityContext {
	no := false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{
			Drop: []corev1.Capability{"ALL"},
			Add:  []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER"},
		},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// rayFiles is the volume of Ray's files: sessions, logs and spilled objects. A restarted container
// finds the files of the one before.
const rayFiles = "ray-files"

func rayFilesVolume() corev1.Volume {
	return corev1.Volume{
		Name: rayFiles, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	}
}

func rayFilesMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: rayFiles, MountPath: "/tmp/ray"}
}
