package clusterdns

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// domain is the zone that the server is authoritative for.
const domain = "cluster.local."

// view is the content of the API server that the zone is built from.
type view interface {
	// Service returns a Service.
	Service(namespace, name string) (*corev1.Service, bool)
	// Slices returns the EndpointSlices of a Service.
	Slices(namespace, service string) []*discoveryv1.EndpointSlice
	// AllSlices returns those of every Service, for reverse look-ups.
	AllSlices() []*discoveryv1.EndpointSlice
}

// zone resolves names from the objects in the API server.
type zone struct {
	view view
	// served are the ClusterIPs at which the daemon itself listens.
	served []netip.Addr
}

// addresses resolves a name, in lower case and with the final dot. It reports whether the name
// exists.
func (z zone) addresses(name string) (addresses []netip.Addr, known bool) {
	inside, ok := strings.CutSuffix(name, "."+domain)
	if !ok {
		return nodeAddress(name)
	}
	labels := strings.Split(inside, ".")
	switch kind := labels[len(labels)-1]; {
	case kind == "svc" && len(labels) == 3:
		return z.service(labels[1], labels[0])
	case kind == "svc" && len(labels) == 4:
		return z.endpoint(labels[2], labels[1], labels[0])
	case kind == "pod" && len(labels) == 3:
		return parseDashed(labels[0])
	}
	return nil, false
}

// service returns the addresses of a Service: those of its ready endpoints, as for a headless
// Service, because there is no kube-proxy. A ClusterIP at which the daemon itself listens is
// returned as it is.
func (z zone) service(namespace, name string) ([]netip.Addr, bool) {
	service, ok := z.view.Service(namespace, name)
	if !ok {
		return nil, false
	}
	if own, err := netip.ParseAddr(service.Spec.ClusterIP); err == nil &&
		slices.Contains(z.served, own) {
		return []netip.Addr{own}, true
	}
	var addresses []netip.Addr
	for _, slice := range z.view.Slices(namespace, name) {
		for i := range slice.Endpoints {
			if isReady(&slice.Endpoints[i]) {
				addresses = append(addresses, parseAll(slice.Endpoints[i].Addresses)...)
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	// A Service without endpoints does not resolve, as in CoreDNS.
	return slices.Compact(addresses), len(addresses) > 0
}

// endpoint returns the address of one named pod behind a headless Service.
func (z zone) endpoint(namespace, service, hostname string) ([]netip.Addr, bool) {
	var addresses []netip.Addr
	for _, slice := range z.view.Slices(namespace, service) {
		for i := range slice.Endpoints {
			if isReady(&slice.Endpoints[i]) && endpointName(&slice.Endpoints[i]) == hostname {
				addresses = append(addresses, parseAll(slice.Endpoints[i].Addresses)...)
			}
		}
	}
	return addresses, len(addresses) > 0
}

// pointer resolves an address to the name of an endpoint.
func (z zone) pointer(address netip.Addr) (name string, known bool) {
	for _, slice := range z.view.AllSlices() {
		service := slice.Labels[discoveryv1.LabelServiceName]
		for i := range slice.Endpoints {
			if service != "" && slices.Contains(parseAll(slice.Endpoints[i].Addresses), address) {
				return strings.Join([]string{endpointName(&slice.Endpoints[i]), service,
					slice.Namespace, "svc", domain}, "."), true
			}
		}
	}
	return "", false
}

// isReady treats an unknown state as ready, as the API requires. Services that publish addresses
// that are not ready have them marked ready.
func isReady(endpoint *discoveryv1.Endpoint) bool {
	return endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
}

// endpointName returns the endpoint's host name, or its address with dashes.
func endpointName(endpoint *discoveryv1.Endpoint) string {
	if endpoint.Hostname != nil && *endpoint.Hostname != "" {
		return *endpoint.Hostname
	}
	if len(endpoint.Addresses) == 0 {
		return ""
	}
	return strings.ReplaceAll(endpoint.Addresses[0], ".", "-")
}

// nodeAddress resolves the private names of EC2 instances, which contain their address:
// ip-10-0-1-23.us-east-2.compute.internal.
func nodeAddress(name string) ([]netip.Addr, bool) {
	host, rest, _ := strings.Cut(name, ".")
	dashed, ok := strings.CutPrefix(host, "ip-")
	if !ok || rest != "ec2.internal." && !strings.HasSuffix(rest, ".compute.internal.") {
		return nil, false
	}
	return parseDashed(dashed)
}

func parseDashed(label string) ([]netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.ReplaceAll(label, "-", "."))
	if err != nil || !address.Is4() {
		return nil, false
	}
	return []netip.Addr{address}, true
}

func parseAll(texts []string) []netip.Addr {
	var addresses []netip.Addr
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// reverseAddress parses a name such as 4.3.2.1.in-addr.arpa.
func reverseAddress(name string) (netip.Addr, bool) {
	reversed, ok := strings.CutSuffix(name, ".in-addr.arpa.")
	if !ok {
		return netip.Addr{}, false
	}
	labels := strings.Split(reversed, ".")
	slices.Reverse(labels)
	address, err := netip.ParseAddr(strings.Join(labels, "."))
	return address, err == nil && address.Is4()
}
