package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ControlPlane is a running control plane. Its methods may be called from several goroutines.
type ControlPlane struct {
	config  Config
	pki     *PKI
	ports   ports
	seconds map[string]time.Duration

	mu sync.Mutex
	// processes holds the process of each component. It does not change once stopping is set.
	processes map[string]*process
	// stopping is set before the components are stopped, so that their end is no failure.
	stopping bool
}

// Start starts the control plane and returns when the API server, the controller manager and the
// scheduler are ready. The child processes end when this process ends, even when it is killed. ctx
// bounds the start only.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, config.StartTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Join(config.Dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of control plane %q: %w", config.ClusterName, err)
	}
	plane := &ControlPlane{
		config: config, seconds: map[string]time.Duration{}, processes: map[string]*process{},
	}
	if plane.ports, err = choosePorts(filepath.Join(config.Dir, "ports.json")); err != nil {
		return nil, fmt.Errorf("choosing ports of control plane %q: %w", config.ClusterName, err)
	}
	if plane.pki, err = loadPKI(filepath.Join(config.Dir, "pki"), config); err != nil {
		return nil, fmt.Errorf("preparing certificates of control plane %q: %w", config.ClusterName,
			err)
	}
	if err := plane.writeKubeconfigs(); err != nil {
		return nil, fmt.Errorf("writing kubeconfigs of control plane %q: %w", config.ClusterName,
			err)
	}
	for _, stage := range plane.stages() {
		if err := plane.startStage(ctx, stage); err != nil {
			err = fmt.Errorf("starting control plane %q: %w", config.ClusterName, err)
			return nil, errors.Join(err, plane.Stop(context.WithoutCancel(ctx)))
		}
	}
	return plane, nil
}

// Endpoint returns the API server's URL, on 127.0.0.1.
func (c *ControlPlane) Endpoint() string {
	return fmt.Sprintf("https://127.0.0.1:%d", c.ports.APIServer)
}

// APIServerPort returns the port of Endpoint, for proxies into other networks.
func (c *ControlPlane) APIServerPort() int { return c.ports.APIServer }

// CAPEM returns the CA certificate of the API server and the kubelets, PEM encoded.
func (c *ControlPlane) CAPEM() []byte { return c.pki.CAPEM() }

// PKI returns the control plane's certificate authority.
func (c *ControlPlane) PKI() *PKI { return c.pki }

// AdminKubeconfig returns the path of a kubeconfig of a cluster administrator, for the rehearsal's
// own use.
func (c *ControlPlane) AdminKubeconfig() string { return c.kubeconfig("admin") }

// AdminConfig returns a client configuration of a cluster administrator, for the rehearsal's own
// use. It does not limit the requests per second: the server's priority and fairness suffice on one
// machine.
func (c *ControlPlane) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: c.Endpoint(),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.CAPEM(), CertData: c.pki.admin.certPEM, KeyData: c.pki.admin.keyPEM,
		},
	}
}

// LogPath returns the log file of a component: etcd, kube-apiserver, kube-controller-manager or
// kube-scheduler.
func (c *ControlPlane) LogPath(component string) string {
	return filepath.Join(c.config.Dir, "logs", component+".log")
}

// StartSeconds returns how long each component took from its start until it was ready.
func (c *ControlPlane) StartSeconds() map[string]time.Duration {
	copied := make(map[string]time.Duration, len(c.seconds))
	for name, took := range c.seconds {
		copied[name] = took
	}
	return copied
}
