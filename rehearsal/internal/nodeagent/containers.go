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
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

const (
	// defaultPath is PATH where neither image nor pod sets one, as container runtimes set it.
	defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// startFailed is the exit status that runtimes report for a container whose command could not
	// be started.
	startFailed = 128
	// killed is the exit status of a container that was ended by SIGKILL.
	killed = 128 + int(unix.SIGKILL)
)

// container is one run of a container.
type container struct {
	ID        string               `json:"id"`
	SandboxID string               `json:"sandboxId"`
	Config    *cri.ContainerConfig `json:"config"`
	Image     images.Image         `json:"image"`
	LogPath   string               `json:"logPath"`
	State     cri.ContainerState   `json:"state"`
	Created   int64                `json:"created"`
	Started   int64                `json:"started"`
	Finished  int64                `json:"finished"`
	ExitCode  int32                `json:"exitCode"`
	Reason    string               `json:"reason"`
	Message   string               `json:"message"`

	process *process
	spec    podinit.Spec
}

func (c *container) exited(code int, reason, message string) {
	c.State, c.Finished = cri.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
	if c.Started == 0 {
		c.Started = c.Finished
	}
	c.ExitCode, c.Reason, c.Message = int32(code), reason, message
}

func (r *containerRuntime) scratch(id string) string {
	return filepath.Join(r.folder, "containers", id)
}

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
	if c.State != cri.ContainerState_CONTAINER_RUNNING {
		name := c.Config.GetMetadata().GetName()
		return nil, status.Errorf(codes.FailedPrecondition, "container %q is not running", name)
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
func (r *containerRuntime) CreateContainer(
	ctx context.Context, request *cri.CreateContainerRequest,
) (*cri.CreateContainerResponse, error) {
	config := request.GetConfig()
	image, err := r.config.Images.Resolve(ctx, config.GetImage().GetImage())
	if err != nil {
		return nil, err
	}
	c := &container{
		ID: newID(), SandboxID: request.GetPodSandboxId(), Config: config, Image: image,
		Created: time.Now().UnixNano(),
		LogPath: filepath.Join(request.GetSandboxConfig().GetLogDirectory(), config.GetLogPath()),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[c.ID] = c
	r.save()
	return &cri.CreateContainerResponse{ContainerId: c.ID}, nil
}

// StartContainer starts a container's init and, through it, the container's command.
func (r *containerRuntime) StartContainer(
	_ context.Context, request *cri.StartContainerRequest,
) (*cri.StartContainerResponse, error) {
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
	c.process, c.State = process, cri.ContainerState_CONTAINER_RUNNING
	if c.Image.IsDevicePlugin() {
		r.devices.plugin(c.Image.DevicePlugin, 1)
	}
	go r.await(c, process)
	return &cri.StartContainerResponse{}, nil
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
	env := []string{defaultPath, "HOSTNAME=" + s.Config.GetHostname(), "HOME=" + homeFolder}
	env = append(env, c.Image.Env...)
	for _, pair := range c.Config.GetEnvs() {
		env = append(env, pair.GetKey()+"="+string(pair.GetValue()))
	}
	var volumes []podinit.Mount
	for _, m := range c.Config.GetMounts() {
		volumes = append(volumes, podinit.Mount{
			Kind: podinit.Bind, Source: m.GetHostPath(), Target: m.GetContainerPath(),
			ReadOnly: m.GetReadonly(),
		})
	}
	// Outer paths first.
	slices.SortStableFunc(volumes, func(a, b podinit.Mount) int {
		return strings.Count(a.Target, "/") - strings.Count(b.Target, "/")
	})
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
		Command: podinit.Command{Argv: slices.Concat(entrypoint, cmd), Env: lastOfEach(env), Dir: dir},
	}
}

// StopContainer asks a container to end, and kills it once the grace period is over.
func (r *containerRuntime) StopContainer(
	ctx context.Context, request *cri.StopContainerRequest,
) (*cri.StopContainerResponse, error) {
	c, err := r.container(request.GetContainerId())
	if err != nil {
		return &cri.StopContainerResponse{}, nil //nolint:nilerr // gone already
	}
	grace := time.Duration(request.GetTimeout()) * time.Second
	return &cri.StopContainerResponse{}, r.stopContainer(ctx, c, grace)
}

func (r *containerRuntime) stopContainer(
	ctx context.Context, c *container, grace time.Duration,
) error {
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
func (r *containerRuntime) RemoveContainer(
	ctx context.Context, request *cri.RemoveContainerRequest,
) (*cri.RemoveContainerResponse, error) {
	if c, err := r.container(request.GetContainerId()); err == nil {
		if err := r.stopContainer(ctx, c, 0); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(c)
		r.save()
	}
	return &cri.RemoveContainerResponse{}, nil
}

// ListContainers lists containers.
func (r *containerRuntime) ListContainers(
	_ context.Context, request *cri.ListContainersRequest,
) (*cri.ListContainersResponse, error) {
	filter := request.GetFilter()
	r.mu.Lock()
	defer r.mu.Unlock()
	response := &cri.ListContainersResponse{}
	for _, c := range r.containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID ||
			filter.GetState() != nil && filter.GetState().GetState() != c.State ||
			!selects(filter.GetLabelSelector(), c.Config.GetLabels()) {
			continue
		}
		response.Containers = append(response.Containers, &cri.Container{
			Id: c.ID, PodSandboxId: c.SandboxID, Metadata: c.Config.GetMetadata(),
			Image: c.Config.GetImage(), ImageRef: c.Image.ID, ImageId: c.Image.ID,
			State: c.State, CreatedAt: c.Created,
			Labels: c.Config.GetLabels(), Annotations: c.Config.GetAnnotations(),
		})
	}
	return response, nil
}

// ContainerStatus describes a container.
func (r *containerRuntime) ContainerStatus(
	_ context.Context, request *cri.ContainerStatusRequest,
) (*cri.ContainerStatusResponse, error) {
	c, err := r.container(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{
		Id: c.ID, Metadata: c.Config.GetMetadata(), State: c.State,
		CreatedAt: c.Created, StartedAt: c.Started, FinishedAt: c.Finished, ExitCode: c.ExitCode,
		Image:    &cri.ImageSpec{Image: c.Config.GetImage().GetUserSpecifiedImage()},
		ImageRef: c.Image.ID, ImageId: c.Image.ID, Reason: c.Reason, Message: c.Message,
		Labels: c.Config.GetLabels(), Annotations: c.Config.GetAnnotations(),
		Mounts: c.Config.GetMounts(), LogPath: c.LogPath,
	}}, nil
}

// ReopenContainerLog goes on with a new file after the kubelet has renamed the log.
func (r *containerRuntime) ReopenContainerLog(
	_ context.Context, request *cri.ReopenContainerLogRequest,
) (*cri.ReopenContainerLogResponse, error) {
	c, err := r.running(request.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &cri.ReopenContainerLogResponse{}, c.process.log.reopen()
}

// UpdateContainerResources does nothing: limits are not enforced.
func (r *containerRuntime) UpdateContainerResources(
	context.Context, *cri.UpdateContainerResourcesRequest,
) (*cri.UpdateContainerResourcesResponse, error) {
	return &cri.UpdateContainerResourcesResponse{}, nil
}

// ContainerStats has no figures: containers have no cgroups.
func (r *containerRuntime) ContainerStats(
	context.Context, *cri.ContainerStatsRequest,
) (*cri.ContainerStatsResponse, error) {
	return &cri.ContainerStatsResponse{}, nil
}

// ListContainerStats has no figures either.
func (r *containerRuntime) ListContainerStats(
	context.Context, *cri.ListContainerStatsRequest,
) (*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

// lastOfEach keeps the last value of each variable: the pod's replaces the image's.
func lastOfEach(env []string) []string {
	last := map[string]int{}
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	var kept []string
	for i, pair := range env {
		if name, _, _ := strings.Cut(pair, "="); last[name] == i {
			kept = append(kept, pair)
		}
	}
	return kept
}
