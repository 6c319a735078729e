package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
)

const (
	// execTimeout bounds one command in a pod, connection included. The gate's commands take seconds; an
	// nvidia-smi that hangs in the kernel would block the update forever.
	execTimeout = 60 * time.Second
	// execOutput bounds, in bytes, what a command may print on each of its two streams. The gate's
	// commands print a few KiB; the pod decides how much arrives here.
	execOutput = 1 << 20
	// quoted is how much of an output an error contains, in bytes.
	quoted = 512
)

var (
	// ErrExecTimeout means that a command in a pod did not end in time.
	ErrExecTimeout = errors.New("timed out")
	// ErrExecOutput means that a command in a pod printed too much.
	ErrExecOutput = errors.New("too much output")
)

// Exec runs a command in a pod's first container, which is Ray's in KubeRay's pods, and returns its
// standard output. A command that does not end within a minute, or prints more than 1 MiB on one of
// its streams, is an error; it is not killed in the pod, because the Kubernetes API cannot do that.
func (c *Cluster) Exec(
	ctx context.Context,
	namespace, pod string,
	command []string,
) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, c.execTimeout,
		fmt.Errorf("%w: %w after %s", ErrExecTimeout, context.DeadlineExceeded, c.execTimeout))
	defer stop()
	executor, err := c.executor(ctx, namespace, pod, command)
	if err != nil {
		return "", errors.Join(err, context.Cause(ctx)) // the cause shows whose deadline it was
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout := &capture{name: "standard output", cancel: cancel}
	stderr := &capture{name: "standard error", cancel: cancel}
	done := make(chan error, 1)
	// In a goroutine, because client-go's SPDY upgrade waits for the server's reply and ignores the
	// context.
	go func() {
		done <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: stdout, Stderr: stderr})
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); cause != nil { // it explains the stream's error
		err = cause
	}
	if err != nil {
		return "", fmt.Errorf(
			"running %q in pod %q: %w%s",
			clipped(strings.Join(command, " ")),
			pod,
			err,
			lastLines(stdout, stderr),
		)
	}
	return stdout.String(), nil
}

// executor prepares a command in a pod, over a websocket or, if the API server does not support that,
// SPDY.
func (c *Cluster) executor(
	ctx context.Context,
	namespace, pod string,
	command []string,
) (remotecommand.Executor, error) {
	object, err := c.kubernetes.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking up pod %q in namespace %q: %w", pod, namespace, err)
	}
	url := c.kubernetes.CoreV1().
		RESTClient().
		Post().
		Resource("pods").
		Namespace(namespace).
		Name(pod).
		SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: object.Spec.Containers[0].Name, Command: command, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).
		URL()
	websocket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return nil, fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return nil, fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return nil, fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	return executor, nil
}

// capture keeps what a command prints on one stream. When that is too much it ends the command's
// session: an error of Write would not, because client-go logs it and continues to read. The stream
// may still write after Exec has returned.
type capture struct {
	name   string
	cancel context.CancelCauseFunc

	mu   sync.Mutex
	text strings.Builder
}

// Write stores all of p, or ends the session and stores nothing.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text.Len()+len(p) > execOutput {
		c.cancel(fmt.Errorf("%w: above %d bytes on its %s", ErrExecOutput, execOutput, c.name))
		return len(p), nil
	}
	return c.text.Write(p)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// lastLines returns the last line of each stream.
func lastLines(streams ...*capture) string {
	var all strings.Builder
	for _, stream := range streams {
		text := strings.TrimSpace(stream.String())
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
		if text != "" {
			fmt.Fprintf(&all, "; last line on its %s: %q", stream.name, clipped(text))
		}
	}
	return all.String()
}

// clipped returns text, shortened to a few hundred bytes.
func clipped(text string) string {
	if len(text) <= quoted {
		return text
	}
	return strings.ToValidUTF8(text[:quoted], "") + " ..."
}
