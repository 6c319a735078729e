package clusterdns

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type fakeView struct {
	services map[string]*corev1.Service
	slices   []*discoveryv1.EndpointSlice
}

func (f fakeView) Service(namespace, name string) (*corev1.Service, bool) {
	s, ok := f.services[namespace+"/"+name]
	return s, ok
}

func (f fakeView) Slices(namespace, service string) []*discoveryv1.EndpointSlice {
	var found []*discoveryv1.EndpointSlice
	for _, s := range f.slices {
		if s.Namespace == namespace && s.Labels[discoveryv1.LabelServiceName] == service {
			found = append(found, s)
		}
	}
	return found
}

func (f fakeView) AllSlices() []*discoveryv1.EndpointSlice { return f.slices }

func testZone() zone {
	service := func(ip string) *corev1.Service { return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip}} }
	slice := func(namespace, service string,
		endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
				Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints: endpoints,
		}
	}
	ready := func(ready bool, hostname string, addresses ...string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: addresses, Hostname: &hostname,
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
	}
	return zone{
		view: fakeView{
			services: map[string]*corev1.Service{
				"default/kubernetes": service("172.20.0.1"),
				"ray/efa-head-svc":   service(corev1.ClusterIPNone),
				"ray/web":            service("172.20.9.9"),
				"ray/empty":          service(corev1.ClusterIPNone),
			},
			slices: []*discoveryv1.EndpointSlice{
				slice("default", "kubernetes", ready(true, "", "127.0.0.1")),
				slice("ray", "efa-head-svc", ready(true, "", "10.0.128.2")),
				slice("ray", "web", ready(true, "web-0", "10.0.129.7"),
					ready(false, "web-1", "10.0.129.8"), ready(true, "", "10.0.129.6")),
			},
		},
		served: []netip.Addr{netip.MustParseAddr("172.20.0.1")},
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		kind     dnsmessage.Type
		want     []string
		code     dnsmessage.RCode
	}{
		{"the API server's own ClusterIP", "kubernetes.default.svc.cluster.local.",
			dnsmessage.TypeA, []string{"172.20.0.1"}, 0},
		{"headless", "efa-head-svc.ray.svc.cluster.local.", dnsmessage.TypeA,
			[]string{"10.0.128.2"}, 0},
		{"upper case", "EFA-head-svc.ray.svc.Cluster.Local.", dnsmessage.TypeA,
			[]string{"10.0.128.2"}, 0},
		{"ClusterIP gives ready endpoints, sorted", "web.ray.svc.cluster.local.", dnsmessage.TypeA,
			[]string{"10.0.129.6", "10.0.129.7"}, 0},
		{"one endpoint", "web-0.web.ray.svc.cluster.local.", dnsmessage.TypeA,
			[]string{"10.0.129.7"}, 0},
		{"an endpoint that is not ready", "web-1.web.ray.svc.cluster.local.", dnsmessage.TypeA, nil,
			dnsmessage.RCodeNameError},
		{"no IPv6, but the name exists", "web.ray.svc.cluster.local.", dnsmessage.TypeAAAA, nil, 0},
		{"no endpoints", "empty.ray.svc.cluster.local.", dnsmessage.TypeA, nil,
			dnsmessage.RCodeNameError},
		{"other namespace", "web.default.svc.cluster.local.", dnsmessage.TypeA, nil,
			dnsmessage.RCodeNameError},
		{"pod by address", "10-0-128-2.ray.pod.cluster.local.", dnsmessage.TypeA,
			[]string{"10.0.128.2"}, 0},
		{"instance", "ip-10-0-1-23.us-east-2.compute.internal.", dnsmessage.TypeA,
			[]string{"10.0.1.23"}, 0},
		{"a look-alike of an instance", "ip-10-0-1-23.example.com.", dnsmessage.TypeA, nil,
			dnsmessage.RCodeNameError},
		{"outside", "example.com.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
		{"the zone itself", "cluster.local.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
		{"reverse", "7.129.0.10.in-addr.arpa.", dnsmessage.TypePTR,
			[]string{"web-0.web.ray.svc.cluster.local."}, 0},
		{"reverse without host name", "2.128.0.10.in-addr.arpa.", dnsmessage.TypePTR,
			[]string{"10-0-128-2.efa-head-svc.ray.svc.cluster.local."}, 0},
		{"reverse unknown", "1.1.1.1.in-addr.arpa.", dnsmessage.TypePTR, nil,
			dnsmessage.RCodeNameError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			query := dnsmessage.Message{
				Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
				Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(test.in),
					Type: test.kind, Class: dnsmessage.ClassINET}},
			}
			packet, err := query.Pack()
			require.NoError(t, err)
			answer, err := testZone().respond(packet)
			require.NoError(t, err)
			var message dnsmessage.Message
			require.NoError(t, message.Unpack(answer))
			assert.Equal(t, uint16(7), message.ID)
			assert.Equal(t, test.code, message.RCode)
			var got []string
			for _, record := range message.Answers {
				switch body := record.Body.(type) {
				case *dnsmessage.AResource:
					got = append(got, netip.AddrFrom4(body.A).String())
				case *dnsmessage.PTRResource:
					got = append(got, body.PTR.String())
				}
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestAMalformedQueryIsAnError(t *testing.T) {
	t.Parallel()
	_, err := testZone().respond([]byte("not DNS"))
	require.Error(t, err)
}
