package podnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
)

const (
	bridgeName = "vpc0"
	// mtu is that of ENIs inside a VPC. Source:
	// docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html.
	mtu = 9001
)

// Config says what a Network looks like.
type Config struct {
	// VPC is the range of node and pod addresses: IPv4, /20 or larger. Default: 10.0.0.0/16.
	VPC netip.Prefix
	// ServiceAddresses are further addresses of the bridge, outside VPC: those of the services that
	// the daemon itself serves. They are the API server's (x.y.0.1 of the service range) and the
	// cluster DNS's (x.y.0.10).
	ServiceAddresses []netip.Addr
}

// Network is one rehearsed VPC's network. Its methods may be called from any goroutine.
type Network struct {
	config    Config
	threads   *threads
	namespace *os.File
	handle    *netlink.Handle // netlink sockets inside namespace
	bridge    netlink.Link

	mu        sync.Mutex
	addresses *addressPlan
	links     int // number of veth pairs so far, for their names
}

// New creates the namespace and the bridge, with the gateway's and the service addresses.
func New(config Config) (*Network, error) {
	if !config.VPC.IsValid() {
		config.VPC = netip.MustParsePrefix("10.0.0.0/16")
	}
	plan, err := newAddressPlan(config.VPC)
	if err != nil {
		return nil, err
	}
	pool := &threads{}
	namespace, err := pool.newNamespace()
	if err != nil {
		return nil, err
	}
	n := &Network{config: config, threads: pool, namespace: namespace, addresses: plan}
	if err := n.build(); err != nil {
		return nil, errors.Join(fmt.Errorf("building the VPC network: %w", err), n.Close())
	}
	return n, nil
}

func (n *Network) build() error {
	handle, err := n.handleIn(n.namespace)
	if err != nil {
		return err
	}
	n.handle = handle
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = bridgeName, mtu
	// A bridge without an address of its own has that of one of its ports, which changes as pods come
	// and go. Others notice by ARP only, so that their open connections hang for up to 45 s.
	attrs.HardwareAddr = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x01}
	if err := handle.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("adding bridge: %w", err)
	}
	if n.bridge, err = handle.LinkByName(bridgeName); err != nil {
		return fmt.Errorf("finding bridge: %w", err)
	}
	own := append([]netip.Prefix{netip.PrefixFrom(n.Gateway(), n.config.VPC.Bits())},
		hostPrefixes(n.config.ServiceAddresses)...)
	for _, prefix := range own {
		if err := handle.AddrAdd(n.bridge, netlinkAddr(prefix)); err != nil {
			return fmt.Errorf("adding address %q to the bridge: %w", prefix, err)
		}
	}
	return linksUp(handle, "lo", bridgeName)
}

// Gateway returns the address at which pods reach what listens on the bridge.
func (n *Network) Gateway() netip.Addr { return n.addresses.gateway() }

// Listen opens a stream listener on the bridge, where pods can reach it. Address is a literal IP
// and port; use Gateway or a service address.
func (n *Network) Listen(address string) (net.Listener, error) {
	listener, err := n.threads.listen(n.namespace, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening inside the VPC on %q: %w", address, err)
	}
	return listener, nil
}

// ListenPacket is Listen for UDP.
func (n *Network) ListenPacket(address string) (net.PacketConn, error) {
	var conn net.PacketConn
	err := n.threads.inside(n.namespace, func() error {
		var err error
		conn, err = net.ListenPacket("udp", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listening inside the VPC on UDP %q: %w", address, err)
	}
	return conn, nil
}

// Close releases the network. The kernel removes it when the last process inside it has ended.
func (n *Network) Close() error {
	if n.handle != nil {
		n.handle.Close()
	}
	n.threads.close()
	return n.namespace.Close()
}

// handleIn opens netlink sockets inside a namespace. The library's own function leaves the thread
// in the namespace when it cannot return.
func (n *Network) handleIn(namespace *os.File) (handle *netlink.Handle, err error) {
	err = n.threads.inside(namespace, func() error {
		handle, err = netlink.NewHandle()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening netlink in a network namespace: %w", err)
	}
	return handle, nil
}

func linksUp(handle *netlink.Handle, names ...string) error {
	for _, name := range names {
		link, err := handle.LinkByName(name)
		if err != nil {
			return fmt.Errorf("finding link %q: %w", name, err)
		}
		if err := handle.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting link %q up: %w", name, err)
		}
	}
	return nil
}

func hostPrefixes(addresses []netip.Addr) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, address := range addresses {
		prefixes = append(prefixes, netip.PrefixFrom(address, address.BitLen()))
	}
	return prefixes
}

func netlinkAddr(prefix netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{
		IP:   prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
	}}
}
