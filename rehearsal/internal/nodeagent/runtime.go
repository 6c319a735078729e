package nodeagent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// containerRuntime serves the kubelet's Container Runtime Interface: sandboxes are network
// namespaces, containers are processes.
type containerRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	config  Config
	network *podnet.Node
	spawner *spawner
	devices *devices
	streams streaming.Server
	folder  string
	socket  string
	server  *grpc.Server
	http    *http.Server

	mu         sync.Mutex
	sandboxes  map[string]*sandbox
	containers map[string]*container
	// off is set when the machine loses its power: what ends then is not saved.
	off bool
}

// runtimeState is what of the runtime survives a restart of the node.
type runtimeState struct {
	Sandboxes  map[string]*sandbox   `json:"sandboxes"`
	Containers map[string]*container `json:"containers"`
}

func newRuntime(config Config, network *podnet.Node, folder string) (*containerRuntime, error) {
	r := &containerRuntime{
		config: config, network: network, spawner: newSpawner(), folder: folder,
		devices:   newDevices(config.Spec, filepath.Join(folder, "devices.json")),
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{},
	}
	if err := r.load(); err != nil {
		return nil, err
	}
	// A socket's path is at most 108 bytes long, which a node's folder may exceed.
	sockets, err := os.MkdirTemp("", "raytrain-cri-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the container runtime's socket: %w", err)
	}
	r.socket = filepath.Join(sockets, "cri.sock")
	listener, err := net.Listen("unix", r.socket)
	if err != nil {
		return nil, fmt.Errorf("serving the container runtime: %w", err)
	}
	// The kubelet, which passes streams on, is in the node's network.
	forStreams, err := network.Host().Listen("127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serving streams: %w", err), listener.Close())
	}
	settings := streaming.DefaultConfig
	settings.BaseURL = &url.URL{Scheme: "http", Host: forStreams.Addr().String()}
	if r.streams, err = streaming.NewServer(settings, streams{r}); err != nil {
		return nil, fmt.Errorf("serving streams: %w", err)
	}
	r.http = &http.Server{
		Handler: r.streams, ReadHeaderTimeout: 30 * time.Second,
		ErrorLog: slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
	}
	go func() { _ = r.http.Serve(forStreams) }()
	r.server = grpc.NewServer(grpc.MaxRecvMsgSize(16<<20), grpc.MaxSendMsgSize(16<<20))
	cri.RegisterRuntimeServiceServer(r.server, r)
	cri.RegisterImageServiceServer(r.server, &imageService{store: config.Images})
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// close ends every container, and returns when the last process has ended.
func (r *containerRuntime) close() {
	r.server.Stop()
	_ = r.http.Close()
	_ = os.RemoveAll(filepath.Dir(r.socket))
	r.mu.Lock()
	r.off = true
	var running []*process
	for _, c := range r.containers {
		if c.process != nil {
			running = append(running, c.process)
		}
	}
	r.mu.Unlock()
	for _, p := range running {
		p.signal(unix.SIGKILL)
	}
	for _, p := range running {
		<-p.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sandboxes {
		s.closeNetwork(r.network)
	}
	r.spawner.close()
}

func (r *containerRuntime) statePath() string { return filepath.Join(r.folder, "state.json") }

// load reads what the node's previous run left: its processes are gone.
func (r *containerRuntime) load() error {
	data, err := os.ReadFile(r.statePath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the container runtime's state: %w", err)
	}
	state := runtimeState{r.sandboxes, r.containers}
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("parsing the container runtime's state: %w", err)
	}
	for _, s := range r.sandboxes {
		s.State = cri.PodSandboxState_SANDBOX_NOTREADY
	}
	for _, c := range r.containers {
		if c.State != cri.ContainerState_CONTAINER_EXITED {
			c.exited(killed, "ContainerStatusUnknown", "The container ended with its node")
		}
	}
	return nil
}

// save writes the state. The caller holds mu.
func (r *containerRuntime) save() {
	if r.off {
		return
	}
	data, err := json.Marshal(runtimeState{r.sandboxes, r.containers})
	if err == nil {
		err = os.WriteFile(r.statePath()+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(r.statePath()+".new", r.statePath())
	}
	if err != nil {
		name := r.config.Spec.Name
		r.config.Log.Warn("saving the container runtime's state", "node", name, "error", err)
	}
}

func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// Version names the runtime.
func (r *containerRuntime) Version(
	context.Context, *cri.VersionRequest,
) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{
		Version: "0.1.0", RuntimeName: "rehearsal", RuntimeVersion: "1", RuntimeApiVersion: "v1",
	}, nil
}

// Status reports the runtime and its network ready.
func (r *containerRuntime) Status(
	context.Context, *cri.StatusRequest,
) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true},
	}}}, nil
}

// RuntimeConfig names a cgroup driver, which nothing uses.
func (r *containerRuntime) RuntimeConfig(
	context.Context, *cri.RuntimeConfigRequest,
) (*cri.RuntimeConfigResponse, error) {
	driver := &cri.LinuxRuntimeConfiguration{CgroupDriver: cri.CgroupDriver_CGROUPFS}
	return &cri.RuntimeConfigResponse{Linux: driver}, nil
}

// UpdateRuntimeConfig takes the pods' address range, which the network has already.
func (r *containerRuntime) UpdateRuntimeConfig(
	context.Context, *cri.UpdateRuntimeConfigRequest,
) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}
