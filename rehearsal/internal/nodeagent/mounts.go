package nodeagent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// homeFolder is $HOME in every container. It lies below /run because that is
// the container's own, while the /root of this machine stays readable: the
// tool cache is usually there.
const homeFolder = "/run/home"

// volumeMounts plans how a container sees the pod's volumes, outer paths first.
func volumeMounts(pod *corev1.Pod, c *corev1.Container, env []string, v volumes) ([]podinit.Mount, error) {
	var mounts []podinit.Mount
	for _, m := range c.VolumeMounts {
		source, fixed, err := mountSource(pod, m.Name, v)
		if err != nil {
			return nil, err
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = expand(m.SubPathExpr, newVariables(env))
		}
		if sub != "" {
			relative, err := insidePath(sub)
			if err != nil {
				return nil, fmt.Errorf("volume mount %q: sub%w", m.Name, err)
			}
			source = filepath.Join(source, relative)
			if _, err := os.Stat(source); os.IsNotExist(err) {
				if err := os.MkdirAll(source, 0o777); err != nil {
					return nil, err
				}
			}
		}
		mounts = append(mounts, podinit.Mount{
			Kind: podinit.Bind, Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || fixed,
		})
	}
	slices.SortStableFunc(mounts, func(a, b podinit.Mount) int { return depth(a.Target) - depth(b.Target) })
	return mounts, nil
}

// mountSource finds a volume's place on this machine, and whether Kubernetes
// makes it read-only whatever the mount says.
func mountSource(pod *corev1.Pod, name string, v volumes) (path string, readOnly bool, err error) {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Name != name {
			continue
		}
		if volume.HostPath != nil {
			return v.hostPath(volume.HostPath.Path), false, nil
		}
		return v.path(name), volume.EmptyDir == nil, nil
	}
	return "", false, fmt.Errorf("volume mount %q: the pod has no such volume", name)
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

// systemMounts plans what every container sees besides its volumes. Scratch is
// the container's own folder, etc the pod's.
func systemMounts(scratch, etc, hostDir string, hostPaths []string) []podinit.Mount {
	mounts := []podinit.Mount{
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "tmp"), Target: "/tmp"},
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "var-tmp"), Target: "/var/tmp"},
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "home"), Target: homeFolder},
		{Kind: podinit.Bind, Source: filepath.Join(etc, "hosts"), Target: "/etc/hosts"},
		{Kind: podinit.Bind, Source: filepath.Join(etc, "hostname"), Target: "/etc/hostname"},
		{Kind: podinit.Bind, Source: filepath.Join(etc, "resolv.conf"), Target: "/etc/resolv.conf"},
		{Kind: podinit.Bind, Source: hostDir, Target: FactsMount, ReadOnly: true},
		// Other pods' tokens and logs are nobody's facts.
		{Kind: podinit.Tmpfs, Target: filepath.Join(FactsMount, podsFolder), SizeBytes: 4096},
	}
	for _, path := range hostPaths {
		if isPrivate(path) {
			mounts = append(mounts, podinit.Mount{Kind: podinit.Bind, Source: path, Target: path, ReadOnly: true})
		}
	}
	return mounts
}

// isPrivate says whether a path lies where a container has something of its own.
func isPrivate(path string) bool {
	for _, folder := range []string{"/tmp/", "/run/", "/var/tmp/", "/var/run/", "/dev/"} {
		if strings.HasPrefix(filepath.Clean(path)+"/", folder) {
			return true
		}
	}
	return false
}

// hostsFile is the pod's /etc/hosts, in the form that the kubelet gives it.
func hostsFile(podIP, hostname, fqdn string, aliases []corev1.HostAlias) string {
	var out strings.Builder
	out.WriteString("# Written by the rehearsal's node agent, as a kubelet does.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	names := hostname
	if fqdn != "" {
		names = fqdn + "\t" + hostname
	}
	fmt.Fprintf(&out, "%s\t%s\n", podIP, names)
	for _, alias := range aliases {
		fmt.Fprintf(&out, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return out.String()
}

// resolvConf is the pod's /etc/resolv.conf. Every DNS policy that names the
// cluster's resolver gets it; the others would name the node's, which in a
// rehearsal is the same one.
func resolvConf(pod *corev1.Pod, clusterDNS string) string {
	servers := []string{clusterDNS}
	searches := []string{pod.Namespace + ".svc.cluster.local", "svc.cluster.local", "cluster.local"}
	options := []string{"ndots:5"}
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSDefault || policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork {
		searches, options = nil, nil
	}
	if policy == corev1.DNSNone {
		servers, searches, options = nil, nil, nil
	}
	if extra := pod.Spec.DNSConfig; extra != nil {
		servers = append(servers, extra.Nameservers...)
		searches = append(searches, extra.Searches...)
		for _, option := range extra.Options {
			text := option.Name
			if option.Value != nil {
				text += ":" + *option.Value
			}
			options = append(options, text)
		}
	}
	var out strings.Builder
	for _, server := range servers {
		fmt.Fprintf(&out, "nameserver %s\n", server)
	}
	if len(searches) > 0 {
		fmt.Fprintf(&out, "search %s\n", strings.Join(searches, " "))
	}
	if len(options) > 0 {
		fmt.Fprintf(&out, "options %s\n", strings.Join(options, " "))
	}
	return out.String()
}
