// Package nodeagent is a rehearsed machine: it registers the node, runs Kubernetes' own kubelet for
// it, and is the kubelet's container runtime. A container is a process of this machine.
//
// # The kubelet
//
// It is a process of its own (tools/kubernetes/kubelet) inside the node's network, so that probes
// reach pods. Its dependencies describe the rehearsed machine instead of the real one: size and
// devices come from files, there are no cgroups, and host paths are in a folder of the node. The
// API server reaches it at a port of 127.0.0.1, which is the node's external address.
//
// # What a container is
//
// An image is only configuration: its entrypoint names a program of this machine. A container sees
// the machine's root read-only, with its own /tmp, /var/tmp, /run, /dev, /dev/shm, /proc, $HOME and
// resolv.conf, the pod's volumes, and a network, PID, mount and UTS namespace. Its PID 1 is this
// program, executed again as a minimal init (package podinit) that reaps orphans and passes signals
// on. All processes end with the daemon. Memory volumes are mounts of the daemon: it should have a
// mount namespace of its own, or one that is killed leaves them behind.
//
// # What is not rehearsed
//
// CPU and memory limits are not enforced (no cgroups). Where the daemon is root, pods get
// precedence over other work of the machine. Hugepages do not exist. Security contexts are ignored: everything
// runs as root, or as the root of the user namespace that the daemon was started in. Root file
// systems are writable only in the folders named above. Eviction, images kept on the node and
// resource metrics do not exist. Device plugins do not speak to the kubelet: the runtime reports
// which of them run. System V IPC is shared. The containers of a pod have equal, not shared, UTS
// and PID namespaces. Containers have no standard input to attach to. A container's command is not
// PID 1, so that SIGTERM ends one that does not handle it at once, where a real node would wait for
// the grace period.
package nodeagent
