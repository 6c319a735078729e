package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet/clusterdns"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// cluster is one running EKS cluster.
type cluster struct {
	dir     string
	plane   *controlplane.ControlPlane
	network *podnet.Network
	client  kubernetes.Interface
	log     *slog.Logger
	report  func(Incident)
	// agentBase is the configuration that all node agents of the cluster share.
	agentBase nodeagent.Config
	// endServices stops the services for the cluster's pods on the VPC's bridge.
	endServices context.CancelFunc

	nodesMu sync.Mutex
	nodes   map[string]*node
	// defect returns the current defect of the nodes.
	defect func() standin.Defect
}

// The offsets of the API server's and the DNS's address in a service range, as on EKS.
const (
	apiServerOffset = 1
	dnsOffset       = 10
	httpsPort       = 443
)

func (r *runtime) startCluster(spec api.ClusterSpec) (*cluster, error) {
	services, err := netip.ParsePrefix(spec.ServiceCIDR)
	if err != nil {
		return nil, fmt.Errorf("reading the service range: %w", err)
	}
	vpc, err := netip.ParsePrefix(spec.VPCCIDR)
	if err != nil {
		return nil, fmt.Errorf("reading the VPC's range: %w", err)
	}
	apiServer, dns := offset(services, apiServerOffset), offset(services, dnsOffset)
	c := &cluster{dir: r.clusterDir(spec.Name), log: r.log.With("cluster", spec.Name),
		report: r.report, defect: r.currentDefect,
		nodes: map[string]*node{}}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the cluster's folder: %w", err)
	}
	// The start must not end with its request.
	c.plane, err = controlplane.Start(context.Background(), controlplane.Config{
		Dir: filepath.Join(c.dir,
			"control-plane"), Tools: r.tools.Kubernetes, ClusterName: spec.Name,
		KubernetesVersion: spec.Version, ServiceCIDR: spec.ServiceCIDR, ExtraSANs: []string{apiServer.String()},
		TokenWebhookURL: r.endpoint.AWS + api.PathTokenReview + spec.Name, Log: c.log,
		Ended: func(incident controlplane.Incident) {
			text := fmt.Sprintf("cluster %q: %s: %s", spec.Name, incident.Component, incident.Reason)
			if !incident.Restarted {
				text = fmt.Sprintf("cluster %q: %s", spec.Name, incident.Err)
			}
			r.report(Incident{Text: text, Restarted: incident.Restarted})
		},
	})
	if err != nil {
		return nil, err
	}
	if err := c.join(r, vpc, apiServer, dns); err != nil {
		return nil, errors.Join(err, c.plane.Stop(context.Background()))
	}
	return c, nil
}

// join creates the VPC's network and the services for pods on it.
func (c *cluster) join(r *runtime, vpc netip.Prefix, apiServer, dns netip.Addr) (err error) {
	if c.client, err = kubernetes.NewForConfig(c.plane.AdminConfig()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if c.network, err = podnet.New(podnet.Config{VPC: vpc,
		ServiceAddresses: []netip.Addr{apiServer, dns}}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.endServices = cancel
	outside := net.JoinHostPort("127.0.0.1", strconv.Itoa(c.plane.APIServerPort()))
	inside := netip.AddrPortFrom(apiServer, httpsPort)
	if err := c.network.Proxy(ctx, inside.String(), outside); err != nil {
		return err
	}
	if err := clusterdns.Start(ctx, clusterdns.Config{
		Client: c.client, Network: c.network, Address: dns, Served: []netip.Addr{apiServer, dns},
	}); err != nil {
		return err
	}
	certificate, err := c.plane.PKI().ServingCertificate("127.0.0.1")
	if err != nil {
		return err
	}
	c.agentBase = nodeagent.Config{
		REST: c.plane.AdminConfig(), Images: r.registry, Network: c.network,
		APIServer: inside, ClusterDNS: dns,
		ServingCertificate: certificate, Kubelet: r.tools.Kubernetes.Kubelet,
		HostPaths: r.hostPaths(),
		Splice:    r.disturber.Splice,
		// A rehearsal waits less than a kubelet.
		MaxRestartPeriod: 10 * time.Second,
		Log:              c.log,
	}
	return nil
}

// hostPaths returns the folders of this machine that containers must see: the checkout, the
// rehearsal's folder and the targets of the toolchain's links.
func (r *runtime) hostPaths() []string {
	paths := []string{r.config.Root, r.config.Dir}
	for _, link := range []string{r.tools.RayVenv, r.tools.KubeRayOperator} {
		if target, err := filepath.EvalSymlinks(link); err == nil {
			paths = append(paths, filepath.Dir(target))
		}
	}
	return paths
}

// stop stops the nodes, with their containers, then the control plane.
func (c *cluster) stop(ctx context.Context) error {
	c.nodesMu.Lock()
	defer c.nodesMu.Unlock()
	for _, running := range c.nodes {
		running.cancel()
	}
	var problems []error
	for name, running := range c.nodes {
		select {
		case <-running.done:
		case <-ctx.Done():
			problems = append(problems, fmt.Errorf("ending node %q: %w", name, ctx.Err()))
		}
	}
	c.nodes = map[string]*node{}
	c.endServices()
	problems = append(problems, c.plane.Stop(ctx), c.network.Close())
	return errors.Join(problems...)
}

// offset returns the nth address of a range.
func offset(prefix netip.Prefix, n int) netip.Addr {
	address := prefix.Masked().Addr()
	for range n {
		address = address.Next()
	}
	return address
}
