// Package clusterdns is the DNS server of a rehearsed cluster: it answers for cluster.local from
// the API server's Services and EndpointSlices, and for the private names of EC2 instances, inside
// the rehearsal's network.
//
// It replaces CoreDNS and kube-proxy: a Service with a ClusterIP resolves to the addresses of its
// ready endpoints, because no rehearsed node translates ClusterIPs. Other names do not exist. SRV
// records and ExternalName Services are not rehearsed.
package clusterdns

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

const (
	// maxPacket is more than any query over UDP.
	maxPacket = 4096
	// connectionTimeout ends an idle TCP connection.
	connectionTimeout = 10 * time.Second
)

// Config says where the server listens and where its answers come from.
type Config struct {
	// Client watches Services and EndpointSlices.
	Client kubernetes.Interface
	// Network is the VPC to listen in.
	Network *podnet.Network
	// Address is the resolver's, one of Network's service addresses; port 53.
	Address netip.Addr
	// Served are ClusterIPs at which the daemon itself listens inside Network, such as the API
	// server's. A Service with one of them resolves to it.
	Served []netip.Addr
}

// Start starts the server and returns once it has read the existing Services. It stops when ctx
// ends.
func Start(ctx context.Context, config Config) error {
	factory := informers.NewSharedInformerFactory(config.Client, 0)
	source := lister{factory.Core().V1().Services().Lister(),
		factory.Discovery().V1().EndpointSlices().Lister()}
	factory.Core().V1().Services().Informer()
	factory.Discovery().V1().EndpointSlices().Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("starting the cluster's DNS: reading %s: %w", kind,
				context.Cause(ctx))
		}
	}
	address := netip.AddrPortFrom(config.Address, 53).String()
	packets, err := config.Network.ListenPacket(address)
	if err != nil {
		return fmt.Errorf("starting the cluster's DNS: %w", err)
	}
	streams, err := config.Network.Listen(address)
	if err != nil {
		_ = packets.Close()
		return fmt.Errorf("starting the cluster's DNS: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = packets.Close(); _ = streams.Close() })
	z := zone{view: source, served: config.Served}
	go z.servePackets(packets)
	go z.serveStreams(streams)
	return nil
}

func (z zone) servePackets(conn net.PacketConn) {
	buffer := make([]byte, maxPacket)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if answer, err := z.respond(buffer[:n]); err == nil { // what is no query gets no answer
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

func (z zone) serveStreams(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go z.serveStream(conn)
	}
}

// serveStream answers queries that their length precedes (RFC 1035, 4.2.2).
func (z zone) serveStream(conn net.Conn) {
	defer conn.Close()
	for {
		_ = conn.SetDeadline(time.Now().Add(connectionTimeout))
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer, err := z.respond(query)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))),
			answer...)); err != nil {
			return
		}
	}
}

// lister is the view of informers' caches.
type lister struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

func (l lister) Service(namespace, name string) (*corev1.Service, bool) {
	service, err := l.services.Services(namespace).Get(name)
	return service, err == nil
}

func (l lister) Slices(namespace, service string) []*discoveryv1.EndpointSlice {
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})
	found, err := l.slices.EndpointSlices(namespace).List(selector)
	if err != nil {
		return nil // a cache's List does not fail
	}
	return found
}

func (l lister) AllSlices() []*discoveryv1.EndpointSlice {
	found, err := l.slices.List(labels.Everything())
	if err != nil {
		return nil // a cache's List does not fail
	}
	return found
}
