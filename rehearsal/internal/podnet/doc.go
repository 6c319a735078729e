// Package podnet is the network of a rehearsed VPC: one network namespace with a bridge, and one
// namespace per pod and per node. A veth pair connects each to the bridge; its end in the pod is
// eth0.
//
// The bridge has no uplink. A pod reaches other pods, its node's address and what the daemon serves
// on the bridge (the API server's proxy and the cluster DNS), and nothing else. Pod traffic stays
// inside the kernel and does not pass the host's firewall rules.
//
// The package needs CAP_SYS_ADMIN and CAP_NET_ADMIN over namespaces that it creates itself. Root
// has them, and so does a process that is root in its own user namespace. It writes nothing to
// /proc/sys and creates no device nodes. Only file descriptors hold the namespaces, so they end
// with the process, even when it is killed.
//
// Not rehearsed: security groups (the account evaluates those), network policies, kube-proxy (a
// ClusterIP is not routable; the cluster's DNS returns ready endpoints instead), and speed limits.
package podnet
