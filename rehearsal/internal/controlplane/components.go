package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pollEvery is short compared with the start of a component, about a second.
	pollEvery = 50 * time.Millisecond
	// probeTimeout bounds one request to a component. A starting API server may accept a connection
	// and then not respond.
	probeTimeout = 2 * time.Second
)

// errNotReady means that a component runs but was not ready in time.
var errNotReady = errors.New("it was not ready in time")

// component is one program of the control plane.
type component struct {
	// name is the program's name within the multi-call binary.
	name string
	args []string
	// ready is the URL that returns 200 when the component works.
	ready string
}

// stages returns the components in the order in which they depend on each other. Those of one stage
// start together.
func (c *ControlPlane) stages() [][]component {
	return [][]component{{c.etcd()}, {c.apiServer()}, {c.controllerManager(), c.scheduler()}}
}

func (c *ControlPlane) etcd() component {
	client := fmt.Sprintf("https://127.0.0.1:%d", c.ports.Etcd)
	peer := fmt.Sprintf("https://127.0.0.1:%d", c.ports.EtcdPeer)
	cert, key, ca := c.pki.path("local.crt"), c.pki.path("local.key"), c.pki.path("ca.crt")
	return component{name: "etcd", ready: client + "/readyz", args: []string{
		"--data-dir=" + filepath.Join(c.config.Dir, "etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" +
			peer, "--initial-cluster=default=" + peer,
		"--cert-file=" + cert, "--key-file=" + key, "--trusted-ca-file=" + ca, "--client-cert-auth",
		"--peer-cert-file=" + cert, "--peer-key-file=" + key, "--peer-trusted-ca-file=" +
			ca, "--peer-client-cert-auth",
		// Data survives a killed process, not a power failure. Waiting for the disk would be slow.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}}
}

func (c *ControlPlane) apiServer() component {
	args := []string{
		fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", c.ports.Etcd),
		"--etcd-cafile=" + c.pki.path("ca.crt"), "--etcd-certfile=" +
			c.pki.path("local.crt"), "--etcd-keyfile=" + c.pki.path("local.key"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.APIServer),
		// Without it the server looks for an address of the machine, and a machine without network
		// has none.
		"--advertise-address=127.0.0.1",
		// Pods cannot reach 127.0.0.1. They use a proxy in their own network.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.pki.path("apiserver.crt"), "--tls-private-key-file=" +
			c.pki.path("apiserver.key"),
		"--client-ca-file=" + c.pki.path("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" +
			c.pki.path("sa.pub"), "--service-account-signing-key-file=" + c.pki.path("sa.key"),
		"--service-cluster-ip-range=" + c.config.ServiceCIDR,
		"--authorization-mode=RBAC",
		// EKS runs it too: pods that request a device tolerate the taint with the device's name.
		"--enable-admission-plugins=ExtendedResourceToleration",
		"--allow-privileged=true",
		"--kubelet-client-certificate=" +
			c.pki.path("kubelet-client.crt"), "--kubelet-client-key=" +
			c.pki.path("kubelet-client.key"),
		"--kubelet-certificate-authority=" + c.pki.path("ca.crt"),
		"--kubelet-preferred-address-types=ExternalIP",
		"--profiling=false",
	}
	if c.config.TokenWebhookURL != "" {
		args = append(args,
			"--authentication-token-webhook-config-file="+c.kubeconfig("token-webhook"),
			"--authentication-token-webhook-version=v1",
			// Access that the account removes must end soon. By default responses are cached for
			// two minutes.
			"--authentication-token-webhook-cache-ttl=10s",
		)
	}
	return component{name: "kube-apiserver", ready: c.Endpoint() + "/readyz", args: args}
}

func (c *ControlPlane) controllerManager() component {
	return component{
		name: "kube-controller-manager", ready: fmt.Sprintf("https://127.0.0.1:%d/healthz",
			c.ports.ControllerManager),
		args: append(c.clientArgs("controller-manager", c.ports.ControllerManager),
			"--cluster-name="+c.config.ClusterName,
			"--use-service-account-credentials=true",
			"--service-account-private-key-file="+c.pki.path("sa.key"),
			"--root-ca-file="+c.pki.path("ca.crt"),
		),
	}
}

func (c *ControlPlane) scheduler() component {
	return component{
		name: "kube-scheduler", ready: fmt.Sprintf("https://127.0.0.1:%d/healthz",
			c.ports.Scheduler),
		args: c.clientArgs("scheduler", c.ports.Scheduler),
	}
}

// clientArgs returns the arguments that the two clients of the API server share. There is one of
// each, so that neither elects a leader.
func (c *ControlPlane) clientArgs(identity string, port int) []string {
	kubeconfig := c.kubeconfig(identity)
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" +
			kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.pki.path("local.crt"), "--tls-private-key-file=" +
			c.pki.path("local.key"),
		"--leader-elect=false", "--profiling=false",
	}
}

// startStage starts components together and waits until all are ready.
func (c *ControlPlane) startStage(ctx context.Context, stage []component) error {
	started := make([]*process, len(stage))
	begin := time.Now()
	for i, part := range stage {
		process, err := c.launch(part)
		if err != nil {
			return err
		}
		started[i] = process
	}
	for i, part := range stage {
		if err := c.waitReady(ctx, started[i], part.ready); err != nil {
			return err
		}
		c.seconds[part.name] = time.Since(begin)
		c.config.Log.Debug("control plane component is ready", "component", part.name, "seconds",
			time.Since(begin).Seconds())
		go c.supervise(part, started[i])
	}
	return nil
}

// waitReady polls the component until it is ready, has ended or ctx ends.
func (c *ControlPlane) waitReady(ctx context.Context, part *process, probe string) error {
	client, err := c.probeClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		if last = ask(ctx, client, probe); last == nil {
			return nil
		}
		select {
		case <-part.ended:
			return part.failure()
		case <-ctx.Done():
			return part.explain(fmt.Errorf("%w: %w (%w)", errNotReady, ctx.Err(), last))
		case <-ticker.C:
		}
	}
}

// probeClient returns an HTTP client with the administrator's certificate that trusts this control
// plane's authority.
func (c *ControlPlane) probeClient() (*http.Client, error) {
	certificate, err := tls.X509KeyPair(c.pki.admin.certPEM, c.pki.admin.keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	return &http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: c.pki.ClientCAs(), Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		}},
	}, nil
}

// ask returns nil if the URL returns 200.
func ask(ctx context.Context, client *http.Client, probe string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, probe, nil)
	if err != nil {
		return fmt.Errorf("calling %q: %w", probe, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("calling %q: %w", probe, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, tailBytes))
	if err != nil {
		return fmt.Errorf("reading the response of %q: %w", probe, err)
	}
	return fmt.Errorf("calling %q: %s: %s", probe, response.Status, strings.TrimSpace(string(body)))
}
