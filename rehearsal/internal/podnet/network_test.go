package podnet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newTestNetwork(t *testing.T) *Network {
	t.Helper()
	network, err := New(Config{ServiceAddresses: []netip.Addr{netip.MustParseAddr("172.20.0.1")}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, network.Close()) })
	return network
}

func TestPodsReachEachOtherAndOnlyTheirOwnLoopback(t *testing.T) {
	t.Parallel()
	network := newTestNetwork(t)
	node, err := network.AddNode(netip.MustParseAddr("10.0.1.23"))
	require.NoError(t, err)
	assert.Equal(t, "10.0.1.23", node.Host().Address.String())
	server, err := node.NewSandbox()
	require.NoError(t, err)
	client, err := node.NewSandbox()
	require.NoError(t, err)

	listener, err := server.Listen("127.0.0.1:8000")
	require.NoError(t, err)
	defer listener.Close()
	wide, err := server.Listen(":9000")
	require.NoError(t, err)
	defer wide.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	conn, err := client.DialContext(ctx, "tcp", fmt.Sprintf("%s:9000", server.Address))
	require.NoError(t, err)
	defer conn.Close()
	assert.Equal(t, client.Address.String(), conn.LocalAddr().(*net.TCPAddr).IP.String())

	_, err = client.DialContext(ctx, "tcp", "127.0.0.1:8000")
	require.Error(t, err, "another pod's loopback must not be reachable")
	own, err := server.DialContext(ctx, "tcp", "127.0.0.1:8000")
	require.NoError(t, err)
	assert.NoError(t, own.Close())
}

func TestProxyCarriesAServiceAddressToLoopback(t *testing.T) {
	t.Parallel()
	network := newTestNetwork(t)
	node, err := network.AddNode(netip.Addr{})
	require.NoError(t, err)
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "api")
	})}
	go func() { _ = server.Serve(outside) }()
	t.Cleanup(func() { _ = server.Close() })

	require.NoError(t, network.Proxy(t.Context(), "172.20.0.1:443", outside.Addr().String()))
	pod, err := node.NewSandbox()
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DialContext: pod.DialContext},
		Timeout: 5 * time.Second}
	response, err := client.Get("http://172.20.0.1:443/")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "api", string(body))
}

// A child with a parent-death signal must survive what the network does with threads, and must run
// in the program's own namespace.
func TestChildrenOutliveWorkInNamespaces(t *testing.T) {
	t.Parallel()
	home, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	var children []*exec.Cmd
	for range 20 {
		network := newTestNetwork(t)
		node, err := network.AddNode(netip.Addr{})
		require.NoError(t, err)
		_, err = node.Host().DialContext(t.Context(), "tcp", "127.0.0.1:1")
		require.Error(t, err)
		child := exec.Command("sleep", "1000")
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, child.Start())
		children = append(children, child)
		require.NoError(t, node.Close())
	}
	for _, child := range children {
		at, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", child.Process.Pid))
		require.NoError(t, err)
		assert.Equal(t, home, at)
		require.NoError(t, child.Process.Kill())
		err = child.Wait()
		assert.ErrorContains(t, err, "killed")
	}
}

func TestAClosedNetworkSaysSo(t *testing.T) {
	t.Parallel()
	network, err := New(Config{})
	require.NoError(t, err)
	require.NoError(t, network.Close())
	_, err = network.Listen("127.0.0.1:0")
	require.ErrorIs(t, err, errClosed)
}

func TestAddressPlan(t *testing.T) {
	t.Parallel()
	plan, err := newAddressPlan(netip.MustParsePrefix("10.0.0.0/16"))
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.1", plan.gateway().String())

	first, err := plan.block()
	require.NoError(t, err)
	second, err := plan.block()
	require.NoError(t, err)
	assert.Equal(t, "10.0.128.0/24", first.String())
	assert.Equal(t, "10.0.129.0/24", second.String())

	address, err := plan.take(second)
	require.NoError(t, err)
	assert.Equal(t, "10.0.129.1", address.String())
	require.ErrorContains(t, plan.claim(address), "in use")
	plan.release(address)
	require.NoError(t, plan.claim(address))

	require.ErrorContains(t, plan.claim(netip.MustParseAddr("192.168.0.1")), "outside")
	require.ErrorContains(t, plan.claim(plan.gateway()), "in use")
	_, err = newAddressPlan(netip.MustParsePrefix("10.0.0.0/24"))
	require.ErrorContains(t, err, "/20 or larger")
}

func TestAddressPlanReportsThatItIsExhausted(t *testing.T) {
	t.Parallel()
	plan, err := newAddressPlan(netip.MustParsePrefix("10.0.0.0/20"))
	require.NoError(t, err)
	for range 8 {
		_, err := plan.block()
		require.NoError(t, err)
	}
	_, err = plan.block()
	require.ErrorContains(t, err, "no free /24 block")
	block := netip.MustParsePrefix("10.0.8.0/24")
	for range 254 {
		_, err := plan.take(block)
		require.NoError(t, err)
	}
	_, err = plan.take(block)
	require.ErrorContains(t, err, "no free pod address")
}
