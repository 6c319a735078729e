// Package controlplane runs a real Kubernetes control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler as child processes that listen on 127.0.0.1 only, with
// their own certificate authority. It replaces the part of EKS that AWS runs.
//
// A control plane keeps its data, certificates and ports in one folder. Start on the same folder
// starts the same cluster again.
package controlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
)

const (
	// defaultServiceCIDR is the Service range that EKS chooses when the VPC is in 10.0.0.0/8.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
	defaultServiceCIDR = "172.20.0.0/16"
	// defaultStartTimeout is far more than the few seconds that a start takes on an idle machine
	// with 2 cores. It took more than a minute while a compiler used all cores and the disk.
	defaultStartTimeout = 4 * time.Minute
)

// minorVersion matches a Kubernetes version as EKS names it.
var minorVersion = regexp.MustCompile(`^1\.[0-9]+$`)

// Config describes one control plane.
type Config struct {
	// Dir holds the control plane's data, certificates, kubeconfigs and logs.
	Dir string
	// Tools holds the paths of the binaries.
	Tools toolchain.Kubernetes
	// ClusterName is used in the names of kubeconfig contexts and in errors.
	ClusterName string
	// KubernetesVersion is a minor version in the form 1.NN. Kubernetes itself emulates a version
	// up to three older than the binary's: the API server serves what that version served. Default:
	// the binary's.
	KubernetesVersion string
	// ServiceCIDR is where Services get their addresses. Default: 172.20.0.0/16, as on EKS.
	ServiceCIDR string
	// ExtraSANs are further names and addresses for which the API server's certificate is valid,
	// such as the one at which pods reach it.
	ExtraSANs []string
	// TokenWebhookURL, if set, authenticates bearer tokens (authentication.k8s.io/v1 TokenReview
	// over HTTP POST), like EKS's authenticator. Service account tokens and client certificates
	// work without it.
	TokenWebhookURL string
	// StartTimeout bounds Start. Default: 4 minutes.
	StartTimeout time.Duration
	// Ended, if set, is called for each component that ends unexpectedly after Start.
	Ended func(Incident)
	// Log receives a record for each component that starts and for each later failure. Default:
	// discard.
	Log *slog.Logger
}

// withDefaults checks the configuration and fills in the defaults.
func (c Config) withDefaults() (Config, error) {
	var problems []error
	if !filepath.IsAbs(c.Dir) {
		problems = append(problems, fmt.Errorf("directory %q: must be an absolute path", c.Dir))
	}
	if c.Tools.Binary == "" {
		problems = append(problems,
			errors.New("Tools.Binary is missing: take it from toolchain.Locate"))
	}
	if c.ClusterName == "" {
		problems = append(problems, errors.New("ClusterName is missing"))
	}
	if c.ServiceCIDR == "" {
		c.ServiceCIDR = defaultServiceCIDR
	}
	if _, _, err := net.ParseCIDR(c.ServiceCIDR); err != nil {
		problems = append(problems, fmt.Errorf("ServiceCIDR %q: must be a range such as %q",
			c.ServiceCIDR, defaultServiceCIDR))
	}
	if c.TokenWebhookURL != "" {
		if parsed, err := url.Parse(c.TokenWebhookURL); err != nil || parsed.Host == "" {
			problems = append(problems, fmt.Errorf("TokenWebhookURL %q: must be a URL such as %q",
				c.TokenWebhookURL, "http://127.0.0.1:8080/authenticate"))
		}
	}
	if c.KubernetesVersion != "" && !minorVersion.MatchString(c.KubernetesVersion) {
		problems = append(problems,
			fmt.Errorf("KubernetesVersion %q: must be a minor version, 1.NN",
				c.KubernetesVersion))
	}
	if err := errors.Join(problems...); err != nil {
		return c, fmt.Errorf("checking the configuration of control plane %q: %w", c.ClusterName,
			err)
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.Ended == nil {
		c.Ended = func(Incident) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
