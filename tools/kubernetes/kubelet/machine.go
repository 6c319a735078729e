package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/cmd/kubelet/app"
	cadvisortesting "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/mount-utils"
)

// fakeMachine reports the size of the rehearsed machine instead of that of the real one.
type fakeMachine struct {
	cadvisortesting.Fake
	machine machine
}

func (f *fakeMachine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{
		NumCores:       int(f.machine.CPUMillis / 1000),
		MemoryCapacity: uint64(f.machine.MemoryBytes),
		MachineID:      strings.ReplaceAll(f.machine.ProviderID, "/", "-"),
		SystemUUID:     f.machine.ProviderID,
		BootID:         f.machine.BootID,
	}, nil
}

func (f *fakeMachine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{
		KernelVersion: "rehearsed", ContainerOsVersion: "Rehearsed machine (local processes)",
	}, nil
}

// mounter mounts and unmounts by system calls. The library's starts mount(8) each time.
type mounter struct{ mount.Interface }

// volumeSource is the source of the memory file systems that are volumes. By it the container
// runtime recognizes, and hides, those of other pods.
const volumeSource = "raytrain-volume"

func (m mounter) MountSensitiveWithoutSystemd(
	source, target, fstype string, options, sensitive []string,
) error {
	if fstype != "tmpfs" {
		return m.Interface.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitive)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	return unix.Mount(volumeSource, target, fstype, flags, strings.Join(options, ","))
}

func (m mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitiveWithoutSystemd(source, target, fstype, options, nil)
}

func (mounter) Unmount(target string) error {
	return unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// hostUtil leaves the propagation of the machine's mounts as it is.
type hostUtil struct{ hostutil.HostUtils }

func (hostUtil) MakeRShared(string) error { return nil }

// system is the operating system without the folder /var/log/containers of the real machine.
type system struct{ kubecontainer.RealOS }

const containerLogs = "/var/log/containers"

func (s system) MkdirAll(path string, mode os.FileMode) error {
	if path == containerLogs {
		return nil
	}
	return s.RealOS.MkdirAll(path, mode)
}

func (s system) Symlink(from, to string) error {
	if filepath.Dir(to) == containerLogs {
		return nil
	}
	return s.RealOS.Symlink(from, to)
}

// volumePlugins are the kubelet's, with host paths below the machine's folder.
func (m machine) volumePlugins(ctx context.Context) ([]volume.VolumePlugin, error) {
	plugins, err := app.ProbeVolumePlugins(ctx, utilfeature.DefaultFeatureGate)
	for i, plugin := range plugins {
		if plugin.GetPluginName() == "kubernetes.io/host-path" {
			plugins[i] = hostPath{plugin, m.HostDir}
		}
	}
	return plugins, err
}

// hostPath maps paths of the rehearsed machine to a folder. A pod does not mean the machine that
// runs the rehearsal.
type hostPath struct {
	volume.VolumePlugin
	folder string
}

func (h hostPath) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	mapped := *spec
	if spec.Volume != nil && spec.Volume.HostPath != nil {
		mapped.Volume = spec.Volume.DeepCopy()
		source := mapped.Volume.HostPath
		source.Path = filepath.Join(h.folder, filepath.Clean("/"+source.Path))
		kind := created(source.Type)
		source.Type = &kind
		if err := os.MkdirAll(filepath.Dir(source.Path), 0o755); err != nil {
			return nil, err
		}
	}
	return h.VolumePlugin.NewMounter(&mapped, pod)
}

// created is the type of host path that is created where it is missing: a rehearsed machine has no
// operating system whose files could be there.
func created(kind *v1.HostPathType) v1.HostPathType {
	if kind != nil {
		switch *kind {
		case v1.HostPathFile, v1.HostPathFileOrCreate,
			v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev:
			return v1.HostPathFileOrCreate
		}
	}
	return v1.HostPathDirectoryOrCreate
}
