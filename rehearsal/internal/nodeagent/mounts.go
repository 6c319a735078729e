package nodeagent

import (
	"fmt"
	"path/filepath"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// homeFolder is $HOME in every container. It is below /run, which each container has for itself,
// because the /root of this machine stays readable: the tool cache is usually there.
const homeFolder = "/run/home"

// systemMounts lists what every container sees besides its volumes. Scratch is the container's
// folder, etc the pod's.
func systemMounts(scratch, etc, hostDir string, hostPaths []string) []podinit.Mount {
	mounts := []podinit.Mount{
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "tmp"), Target: "/tmp"},
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "var-tmp"), Target: "/var/tmp"},
		{Kind: podinit.Bind, Source: filepath.Join(scratch, "home"), Target: homeFolder},
		{Kind: podinit.Bind, Source: filepath.Join(etc, "hostname"), Target: "/etc/hostname"},
		{Kind: podinit.Bind, Source: filepath.Join(etc, "resolv.conf"), Target: "/etc/resolv.conf"},
		{Kind: podinit.Bind, Source: hostDir, Target: FactsMount, ReadOnly: true},
		// The tokens and logs of other pods are hidden.
		{Kind: podinit.Tmpfs, Target: filepath.Join(FactsMount, podsFolder), SizeBytes: 4096},
	}
	for _, path := range hostPaths {
		if isPrivate(path) {
			mounts = append(mounts, podinit.Mount{
				Kind: podinit.Bind, Source: path, Target: path, ReadOnly: true,
			})
		}
	}
	return mounts
}

// isPrivate reports whether a path is below a folder that each container has for itself.
func isPrivate(path string) bool {
	for _, folder := range []string{"/tmp/", "/run/", "/var/tmp/", "/var/run/", "/dev/"} {
		if strings.HasPrefix(filepath.Clean(path)+"/", folder) {
			return true
		}
	}
	return false
}

// resolvConf is a pod's /etc/resolv.conf.
func resolvConf(dns *cri.DNSConfig) string {
	var out strings.Builder
	for _, server := range dns.GetServers() {
		fmt.Fprintf(&out, "nameserver %s\n", server)
	}
	if searches := dns.GetSearches(); len(searches) > 0 {
		fmt.Fprintf(&out, "search %s\n", strings.Join(searches, " "))
	}
	if options := dns.GetOptions(); len(options) > 0 {
		fmt.Fprintf(&out, "options %s\n", strings.Join(options, " "))
	}
	return out.String()
}
