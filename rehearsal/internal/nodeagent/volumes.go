package nodeagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// volumes are the storage of one pod, below its folder.
type volumes struct {
	folder string // pods/UID/volumes
	host   string // what hostPath volumes are mapped into: a folder of the node
	source objects
	tokens tokenSource
}

// tokenSource issues service account tokens.
type tokenSource interface {
	Token(ctx context.Context, pod *corev1.Pod, projection *corev1.ServiceAccountTokenProjection) (string, error)
}

func (v volumes) path(name string) string { return filepath.Join(v.folder, name) }

// prepare makes every volume of the pod. It may be called again: volumes that
// objects fill are brought up to date, others are left alone.
func (v volumes) prepare(ctx context.Context, fields fieldSource) error {
	for i := range fields.pod.Spec.Volumes {
		volume := &fields.pod.Spec.Volumes[i]
		if err := v.prepareOne(ctx, volume, fields); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", volume.Name, err)
		}
	}
	return nil
}

func (v volumes) prepareOne(ctx context.Context, volume *corev1.Volume, fields fieldSource) error {
	folder := v.path(volume.Name)
	if volume.HostPath != nil {
		return v.prepareHostPath(volume.HostPath)
	}
	_, statErr := os.Stat(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if volume.EmptyDir != nil {
		if statErr == nil {
			return nil
		}
		return prepareEmptyDir(folder, volume.EmptyDir)
	}
	content, err := v.content(ctx, volume, fields)
	if err != nil {
		return err
	}
	return content.write(folder)
}

func prepareEmptyDir(folder string, source *corev1.EmptyDirVolumeSource) error {
	if source.Medium != corev1.StorageMediumMemory {
		// As the kubelet does: any user of any container may write. MkdirAll's
		// mode is subject to the umask.
		return os.Chmod(folder, 0o777)
	}
	options := "mode=1777"
	if source.SizeLimit != nil && !source.SizeLimit.IsZero() {
		options += fmt.Sprintf(",size=%d", source.SizeLimit.Value())
	}
	if err := unix.Mount(podinit.VolumeSource, folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mounting a memory file system: %w", err)
	}
	return nil
}

// hostPath maps a path of the rehearsed machine to the node's own folder: the
// machine that runs the rehearsal is not the machine that the pod means.
func (v volumes) hostPath(path string) string { return filepath.Join(v.host, filepath.Clean("/"+path)) }

// prepareHostPath makes the path, empty, whatever the pod expects to find
// there: a rehearsed machine has no operating system of its own.
func (v volumes) prepareHostPath(source *corev1.HostPathVolumeSource) error {
	path := v.hostPath(source.Path)
	if source.Type != nil {
		switch *source.Type {
		case corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev:
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			made, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
			if err != nil {
				return err
			}
			return made.Close()
		}
	}
	return os.MkdirAll(path, 0o755)
}

// content computes the files of a volume that objects fill.
func (v volumes) content(ctx context.Context, volume *corev1.Volume, fields fieldSource) (files, error) {
	out := files{}
	switch {
	case volume.ConfigMap != nil:
		s := volume.ConfigMap
		return out, v.addConfigMap(out, fields.pod.Namespace, s.LocalObjectReference, s.Items, s.DefaultMode, s.Optional)
	case volume.Secret != nil:
		s := volume.Secret
		return out, v.addSecret(out, fields.pod.Namespace, corev1.LocalObjectReference{Name: s.SecretName}, s.Items, s.DefaultMode, s.Optional)
	case volume.DownwardAPI != nil:
		return out, addDownward(out, fields, volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if err := v.addProjection(ctx, out, source, volume.Projected.DefaultMode, fields); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("volume type is not rehearsed: want emptyDir, configMap, secret, projected, downwardAPI or hostPath")
}

func (v volumes) addProjection(ctx context.Context, out files, source corev1.VolumeProjection, mode *int32, fields fieldSource) error {
	namespace := fields.pod.Namespace
	switch {
	case source.ConfigMap != nil:
		s := source.ConfigMap
		return v.addConfigMap(out, namespace, s.LocalObjectReference, s.Items, mode, s.Optional)
	case source.Secret != nil:
		s := source.Secret
		return v.addSecret(out, namespace, s.LocalObjectReference, s.Items, mode, s.Optional)
	case source.DownwardAPI != nil:
		return addDownward(out, fields, source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		path, err := insidePath(source.ServiceAccountToken.Path)
		if err != nil {
			return err
		}
		token, err := v.tokens.Token(ctx, fields.pod, source.ServiceAccountToken)
		if err != nil {
			return err
		}
		out[path] = file{[]byte(token), modeOr(mode, nil)}
		return nil
	}
	return fmt.Errorf("projected source is not rehearsed: want configMap, secret, downwardAPI or serviceAccountToken")
}

func (v volumes) addConfigMap(out files, namespace string, ref corev1.LocalObjectReference, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := v.source.ConfigMap(namespace, ref.Name)
	if err != nil {
		return ignoreAbsent(err, optional)
	}
	return out.add(configMapData(object), items, mode, optional, "configmap")
}

func (v volumes) addSecret(out files, namespace string, ref corev1.LocalObjectReference, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := v.source.Secret(namespace, ref.Name)
	if err != nil {
		return ignoreAbsent(err, optional)
	}
	return out.add(object.Data, items, mode, optional, "secret")
}

func ignoreAbsent(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

func addDownward(out files, fields fieldSource, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		path, err := insidePath(item.Path)
		if err != nil {
			return err
		}
		var value string
		if item.FieldRef != nil {
			value, err = fields.field(item.FieldRef.FieldPath)
		} else {
			value, err = fields.resource(item.ResourceFieldRef, "")
		}
		if err != nil {
			return err
		}
		out[path] = file{[]byte(value), modeOr(item.Mode, mode)}
	}
	return nil
}

// release unmounts what prepare mounted.
func (v volumes) release() {
	entries, err := os.ReadDir(v.folder)
	if err != nil {
		return // never prepared
	}
	for _, entry := range entries {
		// Not a mount point, for most: then this does nothing.
		_ = unix.Unmount(v.path(entry.Name()), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
}
