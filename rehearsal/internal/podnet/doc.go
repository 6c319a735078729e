// Package podnet is the network of a rehearsed VPC: one network namespace with
// a bridge in it, and one more namespace per pod and per node, joined to the
// bridge by a veth pair whose far end is the pod's eth0.
//
// Nothing in it reaches the outside: the bridge has no uplink, so a pod can
// talk to pods, to its node's address and to what the daemon serves on the
// bridge (the API server's proxy, the cluster DNS), and to nothing else. Pod
// traffic stays inside the kernel and never meets the host's firewall rules.
//
// The package needs CAP_SYS_ADMIN and CAP_NET_ADMIN over namespaces that it
// creates itself, which root has and a process that is root of its own user
// namespace has too. It writes nothing to /proc/sys and makes no device nodes.
// All namespaces are held by file descriptors alone, so they go away with the
// process, however it ends.
//
// What is not rehearsed: security groups (the account judges those), network
// policies, kube-proxy (a ClusterIP is not routable; the cluster's DNS answers
// with ready endpoints instead), and speed limits.
package podnet
