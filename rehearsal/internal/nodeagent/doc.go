// Package nodeagent is the kubelet of a rehearsed machine: it registers the
// node, runs the pods that the scheduler binds to it as local processes, and
// serves logs, exec, attach and port-forward to the API server.
//
// It is written on client-go and k8s.io/cri-streaming, as goroutines of the
// rehearsal's daemon. The other candidate, virtual-kubelet, builds only with
// the Kubernetes 0.29 libraries, so it would be a module and a binary of its
// own, and it leaves out just the parts that matter here: containers, volumes,
// probes and restarts.
//
// # What a container is
//
// An image is only configuration: its entrypoint names a program of this
// machine. A container sees the machine's root read-only, with its own /tmp,
// /var/tmp, /run, /dev, /dev/shm, /proc, $HOME, /etc/hosts and resolv.conf, the
// pod's volumes, and a network, PID, mount and UTS namespace. Its PID 1 is this
// program, re-executed as a minimal init (package podinit) that reaps orphans
// and passes signals on. All processes die with the daemon. Memory volumes are
// mounts of the daemon: it should have a mount namespace of its own, or one that
// is killed leaves them behind.
//
// # What is not rehearsed
//
// CPU and memory limits are not enforced (no cgroups); where the daemon is root,
// pods get precedence over other work of the machine. Hugepages do not exist;
// security contexts are ignored: everything runs as root, or as the root of the
// user namespace that the daemon was started in. Root file systems are not
// writable outside the folders named above. preStop and postStart hooks,
// ephemeral containers, gRPC probes, persistent volumes, priority-based
// preemption by the node and eviction are not done. System V IPC is shared. The
// containers of a pod have equal, not shared, UTS namespaces. Init containers get
// no devices. A container's command is not PID 1, so that SIGTERM ends one that
// does not handle it at once, where a kubelet would wait for the grace period.
package nodeagent
