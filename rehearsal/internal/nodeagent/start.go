package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
)

// startFailed is the exit status that runtimes report for a container whose
// command could not be started.
const startFailed = 128

// start begins a run of a container, or notes why that is not possible and when
// to try again.
func (w *worker) start(ctx context.Context, name string) {
	c, _ := findContainer(w.pod, name)
	s := w.state.container(name)
	image, err := w.agent.config.Images.Resolve(ctx, c.Image)
	if err != nil {
		w.pullFailed(c, s, err)
		return
	}
	s.imageID = image.ID
	spec, err := w.containerSpec(c, image)
	if err != nil {
		w.configFailed(c, s, err)
		return
	}
	if s.ended != nil {
		s.previous, s.ended = s.ended, nil
		s.restarts++
	}
	s.waiting, s.startedAt = nil, time.Now()
	attempt := int(s.restarts)
	s.containerID = fmt.Sprintf("rehearsal://%s/%s/%d", w.uid, name, attempt)
	process, err := w.launch(c, spec, attempt)
	if err != nil {
		w.containerEvent(c, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		w.ended(c, startFailed, "StartError", err.Error())
		return
	}
	s.running = true
	w.containerEvent(c, corev1.EventTypeNormal, "Started", "started")
	probing, stop := context.WithCancel(ctx)
	run := &containerRun{process: process, attempt: attempt, env: spec.Command.Env, dir: spec.Command.Dir, stop: stop}
	w.mu.Lock()
	w.runs[name] = run
	w.mu.Unlock()
	if image.IsDevicePlugin() {
		w.agent.devices.plugin(corev1.ResourceName(image.DevicePlugin), 1)
	}
	go func() {
		<-process.done
		stop()
		w.post(func() {
			if image.IsDevicePlugin() {
				w.agent.devices.plugin(corev1.ResourceName(image.DevicePlugin), -1)
			}
			reason := "Completed"
			if process.code != 0 {
				reason = "Error"
			}
			w.ended(c, int32(process.code), reason, w.terminationMessage(c, attempt))
		})
	}()
	w.startProbes(probing, c, s, run)
}

// pullFailed reports ErrImagePull, and a moment later that the pull backs off.
func (w *worker) pullFailed(c *corev1.Container, s *containerState, err error) {
	message := fmt.Sprintf("failed to pull and unpack image %q: %v", c.Image, err)
	w.containerEvent(c, corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", c.Image, err)
	s.failures++
	s.notBefore = time.Now().Add(w.agent.config.PullBackoff.delay(s.failures + 1))
	waiting := &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: message}
	s.waiting = waiting
	time.AfterFunc(time.Second, func() {
		w.post(func() {
			if s.waiting == waiting {
				s.waiting = &corev1.ContainerStateWaiting{
					Reason:  "ImagePullBackOff",
					Message: fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", c.Image, message),
				}
			}
		})
	})
}

func (w *worker) configFailed(c *corev1.Container, s *containerState, err error) {
	reason := "CreateContainerError"
	if errors.Is(err, errConfigMissing) {
		reason = "CreateContainerConfigError"
	}
	w.containerEvent(c, corev1.EventTypeWarning, "Failed", "Error: %v", err)
	s.waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}
	s.notBefore = time.Now().Add(min(500*time.Millisecond<<min(s.failures, 10), maxPrepareDelay))
	s.failures++
}

// ended notes the end of a run, and when the next may begin.
func (w *worker) ended(c *corev1.Container, code int32, reason, message string) {
	_, isInit := findContainer(w.pod, c.Name)
	s := w.state.container(c.Name)
	now := time.Now()
	s.running, s.started, s.ready = false, false, false
	s.ended = &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, ContainerID: s.containerID,
		StartedAt: metav1.NewTime(s.startedAt), FinishedAt: metav1.NewTime(now),
	}
	backoff := w.agent.config.RestartBackoff
	if now.Sub(s.startedAt) > 2*backoff.Max {
		s.failures = 0 // it ran long enough to be forgiven
	}
	s.failures++
	if w.stopping || !runsAgain(restartPolicy(w.pod, c, isInit), code) {
		return
	}
	if delay := backoff.delay(s.failures); delay > 0 {
		s.notBefore = now.Add(delay)
		text := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", delay, c.Name, w.name, w.namespace, w.uid)
		s.waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: text}
		w.containerEvent(c, corev1.EventTypeWarning, "BackOff", "%s", text)
	}
}

// containerSpec works out what the container's init has to do.
func (w *worker) containerSpec(c *corev1.Container, image images.Image) (podinit.Spec, error) {
	host, port, err := net.SplitHostPort(w.agent.config.APIServer.String())
	if err != nil {
		return podinit.Spec{}, err
	}
	given := w.grants[c.Name]
	base := append([]string{"HOSTNAME=" + w.hostname(), "HOME=" + homeFolder}, image.Env...)
	base = append(base, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port, "KUBERNETES_SERVICE_PORT_HTTPS="+port)
	env, err := environment(append(base, given.env...), c, w.fields(), w.volumes.source)
	if err != nil {
		return podinit.Spec{}, err
	}
	mounts, err := volumeMounts(w.pod, c, env, w.volumes)
	if err != nil {
		return podinit.Spec{}, err
	}
	dir := c.WorkingDir
	if dir == "" {
		dir = image.WorkingDir
	}
	return podinit.Spec{
		Hostname: w.hostname(),
		Volumes:  mounts,
		Devices:  given.files,
		Command:  podinit.Command{Argv: commandLine(image.Entrypoint, image.Cmd, c, env), Env: env, Dir: dir},
	}, nil
}

// launch makes the container's own folders and starts its init.
func (w *worker) launch(c *corev1.Container, spec podinit.Spec, attempt int) (*process, error) {
	scratch := w.scratch(c.Name, attempt)
	for _, name := range []string{"root", "tmp", "var-tmp", "home"} {
		folder := filepath.Join(scratch, name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
		if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
			return nil, err
		}
	}
	message := filepath.Join(scratch, "termination-log")
	if err := os.WriteFile(message, nil, 0o666); err != nil {
		return nil, err
	}
	spec.Root = filepath.Join(scratch, "root")
	spec.Mounts = systemMounts(scratch, filepath.Join(w.folder, "etc"), w.agent.config.Spec.HostDir, w.agent.config.HostPaths)
	if c.TerminationMessagePath != "" {
		spec.Mounts = append(spec.Mounts, podinit.Mount{Kind: podinit.Bind, Source: message, Target: c.TerminationMessagePath})
	}
	log, err := createLog(w.logPath(c.Name, attempt))
	if err != nil {
		return nil, err
	}
	if attempt > 1 {
		// Only the latest two runs can be asked for.
		_ = os.Remove(w.logPath(c.Name, attempt-2))
	}
	process, err := w.agent.spawner.startProcess(spec, w.sandbox.Namespace(), log)
	if err != nil {
		log.close()
	}
	return process, err
}

func (w *worker) scratch(container string, attempt int) string {
	return filepath.Join(w.folder, "containers", container, strconv.Itoa(attempt))
}

func (w *worker) logPath(container string, attempt int) string {
	return w.scratch(container, attempt) + ".log"
}

// terminationMessage is what the container left for its status. It removes what
// the run left on disk; what cannot be removed goes with the pod's folder.
func (w *worker) terminationMessage(c *corev1.Container, attempt int) string {
	const longest = 4096 // the kubelet's limit
	scratch := w.scratch(c.Name, attempt)
	data, err := os.ReadFile(filepath.Join(scratch, "termination-log"))
	defer func() { _ = os.RemoveAll(scratch) }()
	if err == nil && len(data) == 0 && c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		data = []byte(lastLines(w.logPath(c.Name, attempt)))
	}
	return string(data[:min(len(data), longest)])
}
