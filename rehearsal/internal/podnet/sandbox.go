package podnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"github.com/vishvananda/netlink"
)

// Node is one machine in the network: its own sandbox, which pods with hostNetwork share, and the
// block of its other pods' addresses.
type Node struct {
	network *Network
	block   netip.Prefix
	host    *Sandbox
}

// Sandbox is the network namespace of one pod or node, with eth0 on the bridge.
type Sandbox struct {
	// Address is eth0's.
	Address   netip.Addr
	network   *Network
	namespace *os.File
}

// AddNode joins a machine to the network. The zero address takes one from the node's own block; any
// other must be free and inside the VPC range.
func (n *Network) AddNode(address netip.Addr) (*Node, error) {
	n.mu.Lock()
	block, err := n.addresses.block()
	if err == nil {
		if address.IsValid() {
			err = n.addresses.claim(address)
		} else {
			address, err = n.addresses.take(block)
		}
	}
	n.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("adding a node to the network: %w", err)
	}
	host, err := n.newSandbox(address)
	if err != nil {
		return nil, err
	}
	return &Node{network: n, block: block, host: host}, nil
}

// Host returns the node's own sandbox.
func (n *Node) Host() *Sandbox { return n.host }

// NewSandbox creates the namespace of one pod.
func (n *Node) NewSandbox() (*Sandbox, error) {
	n.network.mu.Lock()
	address, err := n.network.addresses.take(n.block)
	n.network.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return n.network.newSandbox(address)
}

// Close releases the node's own sandbox. Those of its pods have their own Close.
func (n *Node) Close() error { return n.host.Close() }

func (n *Network) newSandbox(address netip.Addr) (*Sandbox, error) {
	namespace, err := n.threads.newNamespace()
	if err != nil {
		return nil, err
	}
	sandbox := &Sandbox{Address: address, network: n, namespace: namespace}
	if err := n.connect(sandbox); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting %s to the VPC network: %w", address, err),
			sandbox.Close())
	}
	return sandbox, nil
}

func (n *Network) connect(sandbox *Sandbox) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links++
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.MasterIndex = fmt.Sprintf("eni%d",
		n.links), mtu, n.bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0",
		PeerNamespace: netlink.NsFd(sandbox.namespace.Fd())}
	if err := n.handle.LinkAdd(pair); err != nil {
		return fmt.Errorf("adding veth pair: %w", err)
	}
	if err := linksUp(n.handle, attrs.Name); err != nil {
		return err
	}
	inside, err := n.handleIn(sandbox.namespace)
	if err != nil {
		return err
	}
	defer inside.Close()
	eth0, err := inside.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("finding eth0: %w", err)
	}
	if err := inside.LinkSetMTU(eth0, mtu); err != nil {
		return fmt.Errorf("setting eth0's MTU: %w", err)
	}
	if err := inside.AddrAdd(eth0, netlinkAddr(netip.PrefixFrom(sandbox.Address,
		n.config.VPC.Bits()))); err != nil {
		return fmt.Errorf("adding address to eth0: %w", err)
	}
	if err := linksUp(inside, "lo", "eth0"); err != nil {
		return err
	}
	// Service addresses are outside the VPC range, so they need the route.
	route := &netlink.Route{LinkIndex: eth0.Attrs().Index, Gw: n.Gateway().AsSlice()}
	if err := inside.RouteAdd(route); err != nil {
		return fmt.Errorf("adding default route: %w", err)
	}
	return nil
}

// Namespace returns the file that a process passes to setns to enter the sandbox. The caller must
// not close it.
func (s *Sandbox) Namespace() *os.File { return s.namespace }

// DialContext connects from inside the sandbox, so that 127.0.0.1 is the pod's own. Address is a
// literal IP and port.
func (s *Sandbox) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return s.network.threads.dial(ctx, s.namespace, network, address)
}

// Listen opens a TCP listener inside the sandbox.
func (s *Sandbox) Listen(address string) (net.Listener, error) {
	return s.network.threads.listen(s.namespace, "tcp", address)
}

// Start starts a program inside the sandbox.
func (s *Sandbox) Start(cmd *exec.Cmd) error {
	return s.network.threads.inside(s.namespace, cmd.Start)
}

// Close releases the sandbox and its address.
func (s *Sandbox) Close() error {
	s.network.mu.Lock()
	s.network.addresses.release(s.Address)
	s.network.mu.Unlock()
	return s.namespace.Close()
}
