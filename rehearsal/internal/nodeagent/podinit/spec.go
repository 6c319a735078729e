// Package podinit is PID 1 of every container that a rehearsed node runs: it
// builds the container's file system inside fresh namespaces, starts the
// container's command, reaps orphans, passes signals on, and starts the
// commands of exec sessions on request.
//
// The agent starts it as a copy of its own program, recognised by argv[0], so
// that a rehearsal needs no second binary. The package therefore depends on
// nothing but the standard library and x/sys, and never returns to main.
package podinit

// Marker is argv[0] of a process that is to become a container's init.
const Marker = "raytrain-pod-init"

// VolumeSource is the source name of the memory file systems that the kubelet mounts for volumes
// (tools/kubernetes/kubelet). By it an init distinguishes them from the machine's own.
const VolumeSource = "raytrain-volume"

// File descriptors that the daemon passes to the init.
const (
	// specFD is read to its end: one Spec in JSON.
	specFD = 3
	// reportFD gets one Report in JSON when the command has been started, or
	// could not be, and then end of file.
	reportFD = 4
	// controlFD is a SOCK_SEQPACKET socket on which exec sessions are asked for.
	controlFD = 5
	// netFD is the pod's network namespace.
	netFD = 6
)

// MountKind says what a mount brings into a container.
type MountKind string

// Kinds of mounts.
const (
	// Bind shows a file or folder of the machine, with all mounted below it.
	Bind MountKind = "bind"
	// Tmpfs is an empty memory file system.
	Tmpfs MountKind = "tmpfs"
)

// Mount is one thing to show inside the container, in order: later mounts may
// lie inside earlier ones.
type Mount struct {
	Kind     MountKind `json:"kind"`
	Source   string    `json:"source,omitempty"`
	Target   string    `json:"target"`
	ReadOnly bool      `json:"readOnly,omitempty"`
	// SizeBytes limits a Tmpfs; 0 leaves it at the kernel's default, half of memory.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

// Spec is everything that the init has to know.
type Spec struct {
	// Hostname becomes the UTS namespace's.
	Hostname string `json:"hostname"`
	// Root is an empty folder that the container's root is assembled on.
	Root string `json:"root"`
	// Mounts are laid over the machine's root, which is read-only.
	Mounts []Mount `json:"mounts"`
	// Volumes are the pod's, and come after Mounts.
	Volumes []Mount `json:"volumes,omitempty"`
	// Devices are plain files to make below /dev, such as infiniband/uverbs0.
	Devices []string `json:"devices,omitempty"`
	// Command is the container's.
	Command Command `json:"command"`
}

// Command is one program to run inside the container.
type Command struct {
	// Argv holds the program and its arguments; a program without a slash is
	// looked for in Env's PATH.
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	// Dir is the working directory, made if missing; "/" if empty.
	Dir string `json:"dir,omitempty"`
	// Terminal makes standard input the controlling terminal.
	Terminal bool `json:"terminal,omitempty"`
}

// Report reports whether the container's command was started.
type Report struct {
	Error string `json:"error,omitempty"`
}

// ExecRequest asks for a command beside the container's. Three descriptors come
// with it: standard input, output and error.
type ExecRequest struct {
	ID      int     `json:"id"`
	Command Command `json:"command"`
	// Kill ends the command of an earlier request instead.
	Kill bool `json:"kill,omitempty"`
}

// ExecResult answers an ExecRequest when its command has ended.
type ExecResult struct {
	ID int `json:"id"`
	// Code is the exit status, 128 + the signal's number for a signalled command.
	Code int `json:"code"`
	// Error is set when the command could not be started.
	Error string `json:"error,omitempty"`
}
