package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// Extended resources that device plugins bring to a node.
const (
	ResourceGPU corev1.ResourceName = "nvidia.com/gpu"
	ResourceEFA corev1.ResourceName = "vpc.amazonaws.com/efa"
)

// FactsMount is where every pod finds, read-only, its own node's HostDir: the
// node-facts.json there is what the stand-ins of the machine's devices go by.
const FactsMount = "/run/raytrain-rehearsal"

// Spec describes one machine.
type Spec struct {
	// Name is the node's name, on EKS ip-10-0-1-23.us-east-2.compute.internal.
	Name string
	// Address is the instance's address in the VPC. The zero value takes it
	// from Name if that begins with ip-A-B-C-D, else any free one.
	Address netip.Addr
	// ProviderID is aws:///ZONE/INSTANCE-ID.
	ProviderID                 string
	InstanceType, Zone, Region string
	Labels                     map[string]string
	Taints                     []corev1.Taint
	// CPU, Memory and Pods are the machine's capacity; the Allocatable pair is
	// what the kubelet of an EKS AMI leaves to pods (default: everything).
	CPU, Memory, Pods                 resource.Quantity
	AllocatableCPU, AllocatableMemory resource.Quantity
	// GPUs and EFAInterfaces are the devices that the machine has. They become
	// allocatable only while the matching device plugin runs on the node.
	GPUs, EFAInterfaces int
	// HostDir is the node's own folder. The agent makes its "pods" folder there,
	// with the pods' logs and volumes; pods see the rest at FactsMount.
	HostDir string
}

// ImageStore finds images. An error means that the pull fails.
type ImageStore interface {
	Resolve(ctx context.Context, ref string) (images.Image, error)
}

// Config is what an agent runs with.
type Config struct {
	// REST authenticates with the rights of system:nodes or more; the
	// rehearsal uses the control plane's own administrator.
	REST *rest.Config
	Spec Spec
	// Images resolves references; see ImageStore.
	Images ImageStore
	// Network is the VPC that the node joins.
	Network *podnet.Network
	// APIServer is the address, reachable from inside Network, that pods get
	// as KUBERNETES_SERVICE_HOST and _PORT.
	APIServer netip.AddrPort
	// ClusterDNS is the resolver's address inside Network.
	ClusterDNS netip.Addr
	// ServingCertificate is the kubelet server's, valid for 127.0.0.1. The kubelet serves only clients
	// with a certificate of the authority in REST.
	ServingCertificate tls.Certificate
	// Kubelet is the program tools/kubernetes/kubelet.
	Kubelet string
	// HostPaths are absolute paths that containers must see even though they
	// lie below a folder that is private to each container (/tmp, /run,
	// /var/tmp): the checkout and the tool cache, wherever they are.
	HostPaths []string
	// Splice connects a forwarded connection with a pod's port. Default: podnet.Splice.
	Splice func(ctx context.Context, port int, client io.ReadWriteCloser, pod net.Conn) error
	// MaxRestartPeriod bounds the time between restarts of a container. Default: 5 minutes.
	MaxRestartPeriod time.Duration
	// Log gets what goes wrong and what pods do. Default: discard.
	Log *slog.Logger
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	var problems []error
	missing := func(name string, is bool) {
		if is {
			problems = append(problems, fmt.Errorf("%s is missing", name))
		}
	}
	missing("REST", c.REST == nil)
	missing("Images", c.Images == nil)
	missing("Network", c.Network == nil)
	missing("Kubelet", c.Kubelet == "")
	missing("ServingCertificate", len(c.ServingCertificate.Certificate) == 0)
	missing("APIServer", !c.APIServer.IsValid())
	missing("ClusterDNS", !c.ClusterDNS.IsValid())
	missing("Spec.Name", c.Spec.Name == "")
	missing("Spec.CPU", c.Spec.CPU.IsZero())
	missing("Spec.Memory", c.Spec.Memory.IsZero())
	missing("Spec.Pods", c.Spec.Pods.IsZero())
	if !filepath.IsAbs(c.Spec.HostDir) {
		problems = append(problems, fmt.Errorf("Spec.HostDir %q: want an absolute path", c.Spec.HostDir))
	}
	if err := errors.Join(problems...); err != nil {
		return c, fmt.Errorf("checking configuration of node %q: %w", c.Spec.Name, err)
	}
	if c.MaxRestartPeriod == 0 {
		c.MaxRestartPeriod = 5 * time.Minute
	}
	if c.Splice == nil {
		c.Splice = func(_ context.Context, _ int, client io.ReadWriteCloser, pod net.Conn) error {
			return podnet.Splice(pod, client)
		}
	}
	if c.Spec.AllocatableCPU.IsZero() {
		c.Spec.AllocatableCPU = c.Spec.CPU
	}
	if c.Spec.AllocatableMemory.IsZero() {
		c.Spec.AllocatableMemory = c.Spec.Memory
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if !c.Spec.Address.IsValid() {
		c.Spec.Address = addressFromName(c.Spec.Name)
	}
	return c, nil
}
