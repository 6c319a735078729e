// Package controlplane runs a real Kubernetes control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler as child processes that listen on 127.0.0.1 only, with a certificate
// authority of their own. It stands in for the part of EKS that AWS runs.
//
// A control plane keeps its data, its certificates and its ports in one folder: Start on the same folder brings the
// same cluster back.
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
	// defaultServiceCIDR is the range that EKS chooses for Services where the VPC lies in 10.0.0.0/8.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
	defaultServiceCIDR = "172.20.0.0/16"
	// defaultStartTimeout is far more than the few seconds that a start takes on an idle machine with 2 cores: beside a
	// compiler that takes all cores and the disk, more than a minute was seen.
	defaultStartTimeout = 4 * time.Minute
)

// minorVersion matches the form in which EKS names Kubernetes versions.
var minorVersion = regexp.MustCompile(`^1\.[0-9]+$`)

// Config describes one control plane.
type Config struct {
	// Dir holds everything that the control plane keeps: data, certificates, kubeconfigs, logs.
	Dir string
	// Tools says where the binaries are.
	Tools toolchain.Kubernetes
	// ClusterName is used in the names of kubeconfig contexts and in errors.
	ClusterName string
	// KubernetesVersion is the wanted minor version, such as "1.36". A version up to three older than the binary's is
	// emulated, by Kubernetes' own means: the API server offers what that version offered. Empty takes the binary's.
	KubernetesVersion string
	// ServiceCIDR is where Services get their addresses. Default: 172.20.0.0/16, as on EKS.
	ServiceCIDR string
	// ExtraSANs are names and addresses, beside 127.0.0.1 and the usual ones, that the API server's certificate must be valid
	// for: where pods reach it, for example.
	ExtraSANs []string
	// TokenWebhookURL, if set, is asked who a bearer token belongs to (authentication.k8s.io/v1 TokenReview over HTTP
	// POST), as EKS's own authenticator is. Service account tokens and client certificates work without it.
	TokenWebhookURL string
	// StartTimeout bounds Start. Default: 4 minutes.
	StartTimeout time.Duration
	// Log gets one record per component that starts, and what goes wrong later. Default: discard.
	Log *slog.Logger
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	var problems []error
	if !filepath.IsAbs(c.Dir) {
		problems = append(problems, fmt.Errorf("the field Dir is %q: want an absolute path", c.Dir))
	}
	if c.Tools.Binary == "" {
		problems = append(problems, errors.New("Tools.Binary is missing: take it from toolchain.Locate"))
	}
	if c.ClusterName == "" {
		problems = append(problems, errors.New("ClusterName is missing"))
	}
	if c.ServiceCIDR == "" {
		c.ServiceCIDR = defaultServiceCIDR
	}
	if _, _, err := net.ParseCIDR(c.ServiceCIDR); err != nil {
		problems = append(problems, fmt.Errorf("ServiceCIDR %q: want a range such as %q", c.ServiceCIDR, defaultServiceCIDR))
	}
	if c.TokenWebhookURL != "" {
		if parsed, err := url.Parse(c.TokenWebhookURL); err != nil || parsed.Host == "" {
			problems = append(problems, fmt.Errorf("TokenWebhookURL %q: want a URL such as %q", c.TokenWebhookURL, "http://127.0.0.1:8080/authenticate"))
		}
	}
	if c.KubernetesVersion != "" && !minorVersion.MatchString(c.KubernetesVersion) {
		problems = append(problems, fmt.Errorf("KubernetesVersion %q: want a minor version such as %q", c.KubernetesVersion, "1.36"))
	}
	if err := errors.Join(problems...); err != nil {
		return c, fmt.Errorf("checking the configuration of control plane %q: %w", c.ClusterName, err)
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
