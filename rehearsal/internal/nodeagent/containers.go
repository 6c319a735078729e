package nodeagent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

const (
	// defaultPath is PATH where neither image nor pod sets one, as container runtimes set it.
	defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// startFailed is the exit status that runtimes report for a container whose command could not
	// be started.
	startFailed = 128
)

// container is one run of a container.
type container struct {
	ID        string                      `json:"id"`
	SandboxID string                      `json:"sandboxId"`
	Config    *runtimeapi.ContainerConfig `json:"config"`
	Image     images.Image                `json:"image"`
	LogPath   string                      `json:"logPath"`
	State     runtimeapi.ContainerState   `json:"state"`
	Created   int64                       `json:"created"`
	Started   int64                       `json:"started"`
	Finished  int64                       `json:"finished"`
	ExitCode  int32                       `json:"exitCode"`
	Reason    string                      `json:"reason"`
	Message   string                      `json:"message"`

	process *process
	spec    podinit.Spec
}

func (c *container) exited(code int, reason, message string) {
	c.State, c.Finished = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
	if c.Started == 0 {
		c.Started = c.Finished
	}
	c.ExitCode, c.Reason, c.Message = int32(code), reason, message
}

func (r *containerRuntime) scratch(id string) string { return filepath.Join(r.folder, "containers", id) }

// forget drops a container that has ended, and its files. The caller holds mu.
func (r *containerRuntime) forget(c *container) {
	delete(r.containers, c.ID)
	_ = os.RemoveAll(r.scratch(c.ID))
}

func (r *containerRuntime) container(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.containers[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "container %q not found", id)
	}
	return c, nil
}

// running finds a container that must not have ended.
func (r *containerRuntime) running(id string) (*container, error) {
	c, err := r.container(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.FailedPrecondition, "container %q is not running", c.Config.GetMetadata().GetName())
	}
	return c, nil
}

func (r *containerRuntime) containersOf(sandbox string) []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*container
	for _, c := range r.containers {
		if c.SandboxID == sandbox {
			found = append(found, c)
		}
	}
	return found
}

// CreateContainer notes what StartContainer is to run.
func (r *containerRuntime) CreateContainer(ctx context.Context, request *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	config := request.GetConfig()
	image, err := r.config.Images.Resolve(ctx, config.GetImage().GetImage())
	if err != nil {
		return nil, err
	}
	c := &container{
		ID: newID(), SandboxID: request.GetPodSandboxId(), Config: config, Image: image, Created: time.Now().UnixNano(),
		LogPath: filepath.Join(request.GetSandboxConfig().GetLogDirectory(), config.GetLogPath()),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[c.ID] = c
	r.save()
	return &runtimeapi.CreateContainerResponse{ContainerId: c.ID}, nil
}

// StartContainer starts a container's init and, through it, the container's command.
func (r *containerRuntime) StartContainer(_ context.Context, request *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	c, err := r.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	s := r.sandboxes[c.SandboxID]
	r.mu.Unlock()
	if s == nil || s.network == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "pod sandbox %q is not ready", c.SandboxID)
	}
	started := time.Now().UnixNano()
	process, err := r.launch(c, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.save()
	c.Started = started
	if err != nil {
		c.exited(startFailed, "StartError", err.Error())
		return nil, err
	}
	c.process, c.State = process, runtimeapi.ContainerState_CONTAINER_RUNNING
	if c.Image.IsDevicePlugin() {
		r.devices.plugin(c.Image.DevicePlugin, 1)
	}
	go r.await(c, process)
	return &runtimeapi.StartContainerResponse{}, nil
}

// await notes the end of a container.
func (r *containerRuntime) await(c *container, process *process) {
	<-process.done
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := "Completed"
	if process.code != 0 {
		reason = "Error"
	}
	c.exited(process.code, reason, "")
	if c.Image.IsDevicePlugin() {
		r.devices.plugin(c.Image.DevicePlugin, -1)
	}
	_ = os.RemoveAll(r.scratch(c.ID)) // what is busy goes when the container is removed
	r.save()
}

// launch makes the container's own folders and starts its init.
func (r *containerRuntime) launch(c *container, s *sandbox) (*process, error) {
	scratch := r.scratch(c.ID)
	for _, name := range []string{"root", "tmp", "var-tmp", "home"} {
		folder := filepath.Join(scratch, name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
		if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
			return nil, err
		}
	}
	c.spec = r.spec(c, s, scratch)
	if err := os.MkdirAll(filepath.Dir(c.LogPath), 0o755); err != nil {
		return nil, err
	}
	log, err := createLog(c.LogPath)
	if err != nil {
		return nil, err
	}
	process, err := r.spawner.startProcess(c.spec, s.network.Namespace(), log)
	if err != nil {
		log.close()
	}
	return process, err
}

// spec is what the container's init has to do.
func (r *containerRuntime) spec(c *container, s *sandbox, scratch string) podinit.Spec {
	env := newVariables([]string{defaultPath, "HOSTNAME=" + s.Config.GetHostname(), "HOME=" + homeFolder})
	for _, pair := range c.Image.Env {
		name, value, _ := strings.Cut(pair, "=")
		env.set(name, value)
	}
	for _, pair := range c.Config.GetEnvs() {
		env.set(pair.GetKey(), string(pair.GetValue()))
	}
	var volumes []podinit.Mount
	for _, m := range c.Config.GetMounts() {
		volumes = append(volumes, podinit.Mount{
			Kind: podinit.Bind, Source: m.GetHostPath(), Target: m.GetContainerPath(), ReadOnly: m.GetReadonly(),
		})
	}
	slices.SortStableFunc(volumes, func(a, b podinit.Mount) int { return depth(a.Target) - depth(b.Target) })
	var devices []string
	for _, device := range c.Config.GetDevices() {
		devices = append(devices, strings.TrimPrefix(device.GetContainerPath(), "/dev/"))
	}
	entrypoint, cmd := c.Image.Entrypoint, c.Image.Cmd
	if command := c.Config.GetCommand(); len(command) > 0 {
		entrypoint, cmd = command, nil
	}
	if args := c.Config.GetArgs(); len(args) > 0 {
		cmd = args
	}
	dir := c.Config.GetWorkingDir()
	if dir == "" {
		dir = c.Image.WorkingDir
	}
	return podinit.Spec{
		Hostname: s.Config.GetHostname(), Root: filepath.Join(scratch, "root"),
		Mounts:  systemMounts(scratch, r.sandboxDir(s.ID), r.config.Spec.HostDir, r.config.HostPaths),
		Volumes: volumes, Devices: devices,
		Command: podinit.Command{Argv: slices.Concat(entrypoint, cmd), Env: env.list(), Dir: dir},
	}
}

// StopContainer asks a container to end, and kills it once the grace period is over.
func (r *containerRuntime) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	c, err := r.container(request.GetContainerId())
	if err != nil {
		return &runtimeapi.StopContainerResponse{}, nil //nolint:nilerr // gone already
	}
	return &runtimeapi.StopContainerResponse{}, r.stopContainer(ctx, c, time.Duration(request.GetTimeout())*time.Second)
}

func (r *containerRuntime) stopContainer(ctx context.Context, c *container, grace time.Duration) error {
	r.mu.Lock()
	process := c.process
	r.mu.Unlock()
	if process == nil {
		return nil
	}
	if grace > 0 {
		process.signal(unix.SIGTERM)
		select {
		case <-process.done:
		case <-time.After(grace):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	process.signal(unix.SIGKILL)
	select {
	case <-process.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RemoveContainer forgets a container that has ended.
func (r *containerRuntime) RemoveContainer(ctx context.Context, request *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	if c, err := r.container(request.GetContainerId()); err == nil {
		if err := r.stopContainer(ctx, c, 0); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(c)
		r.save()
	}
	return &runtimeapi.RemoveContainerResponse{}, nil
}

// ListContainers lists containers.
func (r *containerRuntime) ListContainers(_ context.Context, request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	filter := request.GetFilter()
	r.mu.Lock()
	defer r.mu.Unlock()
	response := &runtimeapi.ListContainersResponse{}
	for _, c := range r.containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID ||
			filter.GetState() != nil && filter.GetState().GetState() != c.State ||
			!selects(filter.GetLabelSelector(), c.Config.GetLabels()) {
			continue
		}
		response.Containers = append(response.Containers, &runtimeapi.Container{
			Id: c.ID, PodSandboxId: c.SandboxID, Metadata: c.Config.GetMetadata(), Image: c.Config.GetImage(),
			ImageRef: c.Image.ID, ImageId: c.Image.ID, State: c.State, CreatedAt: c.Created,
			Labels: c.Config.GetLabels(), Annotations: c.Config.GetAnnotations(),
		})
	}
	return response, nil
}

// ContainerStatus describes a container.
func (r *containerRuntime) ContainerStatus(_ context.Context, request *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := r.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: c.ID, Metadata: c.Config.GetMetadata(), State: c.State,
		CreatedAt: c.Created, StartedAt: c.Started, FinishedAt: c.Finished, ExitCode: c.ExitCode,
		Image: &runtimeapi.ImageSpec{Image: c.Config.GetImage().GetUserSpecifiedImage()}, ImageRef: c.Image.ID, ImageId: c.Image.ID,
		Reason: c.Reason, Message: c.Message, Labels: c.Config.GetLabels(), Annotations: c.Config.GetAnnotations(),
		Mounts: c.Config.GetMounts(), LogPath: c.LogPath,
	}}, nil
}

// ReopenContainerLog goes on with a new file after the kubelet has renamed the log.
func (r *containerRuntime) ReopenContainerLog(_ context.Context, request *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := r.running(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ReopenContainerLogResponse{}, c.process.log.reopen()
}

// UpdateContainerResources does nothing: limits are not enforced.
func (r *containerRuntime) UpdateContainerResources(context.Context, *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// ContainerStats has no figures: containers have no cgroups.
func (r *containerRuntime) ContainerStats(context.Context, *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	return &runtimeapi.ContainerStatsResponse{}, nil
}

// ListContainerStats has no figures either.
func (r *containerRuntime) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{}, nil
}

// variables keeps the order of first appearance.
type variables struct {
	order  []string
	values map[string]string
}

func newVariables(pairs []string) *variables {
	v := &variables{values: map[string]string{}}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		v.set(name, value)
	}
	return v
}

func (v *variables) set(name, value string) {
	if _, known := v.values[name]; !known {
		v.order = append(v.order, name)
	}
	v.values[name] = value
}

func (v *variables) list() []string {
	list := make([]string, 0, len(v.order))
	for _, name := range v.order {
		list = append(list, name+"="+v.values[name])
	}
	return list
}
