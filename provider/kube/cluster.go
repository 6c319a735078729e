// Package kube is the provider's way into one EKS cluster: its API server, its
// Ray head, commands in its pods, and the question whether it still exists.
package kube

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

const (
	// apiTimeout bounds one request to the API server, so that an unreachable
	// cluster is an error within seconds.
	apiTimeout = 20 * time.Second
	// apiRate is far above what a gate asks for; the default of 5 a second
	// would make each look at the cluster wait for the last.
	apiRate, apiBurst = 50, 100
	// tokenKey is where KubeRay keeps the token in the Secret that it names
	// like the RayCluster (authOptions, 1.5.1 and later).
	tokenKey = "auth_token"
)

// Cluster is a connection's settings; nothing is open.
type Cluster struct {
	kubernetes kubernetes.Interface
	config     *rest.Config
	user       *clientcmdapi.AuthInfo
	server     string
}

// Connect reads a kubeconfig; it does not talk to the cluster yet.
func Connect(kubeconfig string) (*Cluster, error) {
	parsed, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = apiRate, apiBurst
	limited := rest.CopyConfig(config) // streams use the config without a limit
	limited.Timeout = apiTimeout
	client, err := kubernetes.NewForConfig(limited)
	if err != nil {
		return nil, fmt.Errorf("preparing the Kubernetes client: %w", err)
	}
	cluster := &Cluster{kubernetes: client, config: config, server: config.Host}
	if active := parsed.Contexts[parsed.CurrentContext]; active != nil {
		cluster.user = parsed.AuthInfos[active.AuthInfo]
	}
	return cluster, nil
}

// Kubernetes is the cluster's API.
func (c *Cluster) Kubernetes() kubernetes.Interface { return c.kubernetes }

// Ray is a client of a RayCluster's head, and the token that it uses, which
// must not reach any report. The token is empty where the cluster has none.
func (c *Cluster) Ray(ctx context.Context, namespace, rayCluster string) (*rayapi.Client, string, error) {
	token, err := c.token(ctx, namespace, rayCluster)
	if err != nil {
		return nil, "", err
	}
	dialer := &forward.Dialer{
		Config: c.config, Kubernetes: c.kubernetes, Namespace: namespace,
		Selector: forward.HeadSelector(rayCluster), Port: rayapi.DashboardPort,
	}
	return rayapi.New(rayapi.Options{Transport: dialer.Transport(), Token: token}), token, nil
}

func (c *Cluster) token(ctx context.Context, namespace, rayCluster string) (string, error) {
	secret, err := c.kubernetes.CoreV1().Secrets(namespace).Get(ctx, rayCluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the Ray token of %q in namespace %q: %w", rayCluster, namespace, err)
	}
	return strings.TrimSpace(string(secret.Data[tokenKey])), nil
}

// Exec runs a command in a pod's first container, which in KubeRay's pods is
// Ray's, and returns its standard output.
func (c *Cluster) Exec(ctx context.Context, namespace, pod string, command []string) (string, error) {
	object, err := c.kubernetes.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("looking up pod %q in namespace %q: %w", pod, namespace, err)
	}
	url := c.kubernetes.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: object.Spec.Containers[0].Name, Command: command, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	websocket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return "", fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return "", fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return "", fmt.Errorf("preparing a command in pod %q: %w", pod, err)
	}
	var stdout, stderr bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		return "", fmt.Errorf("running %q in pod %q: %w: %s", command[0], pod, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
