package nodeagent

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// sandbox is a pod as the runtime knows it: a network namespace and a few files.
type sandbox struct {
	ID      string                `json:"id"`
	Config  *cri.PodSandboxConfig `json:"config"`
	Created int64                 `json:"created"`
	State   cri.PodSandboxState   `json:"state"`
	Address string                `json:"address"`
	network *podnet.Sandbox
}

func (s *sandbox) namespaces() *cri.NamespaceOption {
	return s.Config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) onHost() bool {
	return s.namespaces().GetNetwork() == cri.NamespaceMode_NODE
}

func (s *sandbox) closeNetwork(node *podnet.Node) {
	if s.network != nil && s.network != node.Host() {
		_ = s.network.Close() // only descriptors
	}
	s.network = nil
}

func (r *containerRuntime) sandboxDir(id string) string {
	return filepath.Join(r.folder, "sandboxes", id)
}

// RunPodSandbox makes a pod's network and its files in /etc.
func (r *containerRuntime) RunPodSandbox(
	_ context.Context, request *cri.RunPodSandboxRequest,
) (*cri.RunPodSandboxResponse, error) {
	s := &sandbox{ID: newID(), Config: request.GetConfig(), Created: time.Now().UnixNano()}
	if s.Config.GetHostname() == "" {
		s.Config.Hostname = r.config.Spec.Name
	}
	s.network = r.network.Host()
	if !s.onHost() {
		network, err := r.network.NewSandbox()
		if err != nil {
			return nil, err
		}
		s.network = network
	}
	s.Address = s.network.Address.String()
	etc := r.sandboxDir(s.ID)
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{
		"hostname": s.Config.GetHostname() + "\n", "resolv.conf": resolvConf(s.Config.GetDnsConfig()),
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandboxes[s.ID] = s
	r.save()
	return &cri.RunPodSandboxResponse{PodSandboxId: s.ID}, nil
}

// StopPodSandbox ends what still runs in a pod, and its network.
func (r *containerRuntime) StopPodSandbox(
	ctx context.Context, request *cri.StopPodSandboxRequest,
) (*cri.StopPodSandboxResponse, error) {
	for _, c := range r.containersOf(request.GetPodSandboxId()) {
		if err := r.stopContainer(ctx, c, 0); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sandboxes[request.GetPodSandboxId()]; ok {
		s.closeNetwork(r.network)
		s.State = cri.PodSandboxState_SANDBOX_NOTREADY
		r.save()
	}
	return &cri.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox forgets a pod and its containers.
func (r *containerRuntime) RemovePodSandbox(
	ctx context.Context, request *cri.RemovePodSandboxRequest,
) (*cri.RemovePodSandboxResponse, error) {
	id := request.GetPodSandboxId()
	if _, err := r.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.SandboxID == id {
			r.forget(c)
		}
	}
	delete(r.sandboxes, id)
	_ = os.RemoveAll(r.sandboxDir(id)) // what is busy stays until the node's folder is removed
	r.save()
	return &cri.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus describes a pod.
func (r *containerRuntime) PodSandboxStatus(
	_ context.Context, request *cri.PodSandboxStatusRequest,
) (*cri.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sandboxes[request.GetPodSandboxId()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "pod sandbox %q not found", request.GetPodSandboxId())
	}
	network := &cri.PodSandboxNetworkStatus{}
	if !s.onHost() {
		network.Ip = s.Address
	}
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{
		Id: s.ID, Metadata: s.Config.GetMetadata(), State: s.State, CreatedAt: s.Created,
		Network: network,
		Linux:   &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: s.namespaces()}},
		Labels:  s.Config.GetLabels(), Annotations: s.Config.GetAnnotations(),
	}}, nil
}

// ListPodSandbox lists pods.
func (r *containerRuntime) ListPodSandbox(
	_ context.Context, request *cri.ListPodSandboxRequest,
) (*cri.ListPodSandboxResponse, error) {
	filter := request.GetFilter()
	r.mu.Lock()
	defer r.mu.Unlock()
	response := &cri.ListPodSandboxResponse{}
	for _, s := range r.sandboxes {
		if filter.GetId() != "" && filter.GetId() != s.ID ||
			filter.GetState() != nil && filter.GetState().GetState() != s.State ||
			!selects(filter.GetLabelSelector(), s.Config.GetLabels()) {
			continue
		}
		response.Items = append(response.Items, &cri.PodSandbox{
			Id: s.ID, Metadata: s.Config.GetMetadata(), State: s.State, CreatedAt: s.Created,
			Labels: s.Config.GetLabels(), Annotations: s.Config.GetAnnotations(),
		})
	}
	return response, nil
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
