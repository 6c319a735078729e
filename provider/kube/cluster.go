// Package kube connects to one EKS cluster: its API server, its Ray head, commands in its pods, and
// whether it still exists.
package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
)

const (
	// apiTimeout bounds one request to the API server, so that an unreachable cluster is an error
	// within seconds.
	apiTimeout = 20 * time.Second
	// apiRate is requests in a second. Each connection to the head first looks up its pod, and the
	// evidence of 4,096 ranks takes 8,192 connections; the default of 5 would take half an hour.
	apiRate, apiBurst = 200, 400
	// tokenKey is the token's key in the Secret that KubeRay names like the RayCluster (authOptions,
	// 1.5.1 and later).
	tokenKey = "auth_token"
)

// Cluster connects to a cluster on demand.
type Cluster struct {
	kubernetes kubernetes.Interface
	config     *rest.Config
	user       *clientcmdapi.AuthInfo
	server     string
	// execTimeout is the constant of that name, except in tests.
	execTimeout time.Duration
}

// Connect parses a kubeconfig; it sends nothing.
func Connect(kubeconfig string) (*Cluster, error) {
	parsed, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).
		ClientConfig()
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
	cluster := &Cluster{
		kubernetes:  client,
		config:      config,
		server:      config.Host,
		execTimeout: execTimeout,
	}
	if active := parsed.Contexts[parsed.CurrentContext]; active != nil {
		cluster.user = parsed.AuthInfos[active.AuthInfo]
	}
	return cluster, nil
}

// Kubernetes returns a client of the cluster's API.
func (c *Cluster) Kubernetes() kubernetes.Interface { return c.kubernetes }

// Ray returns a client of a RayCluster's head, and its token, which must not be written to a
// report. The token is empty when the cluster has none.
func (c *Cluster) Ray(
	ctx context.Context,
	namespace, rayCluster string,
) (*rayapi.Client, string, error) {
	token, err := c.token(ctx, namespace, rayCluster)
	if err != nil {
		return nil, "", err
	}
	dialer := &forward.Dialer{
		Config: c.config, Kubernetes: c.kubernetes, Namespace: namespace,
		Selector: forward.HeadSelector(rayCluster), Port: rayapi.DashboardPort,
	}
	return rayapi.New(rayapi.Options{Dialer: dialer, Token: token}), token, nil
}

func (c *Cluster) token(ctx context.Context, namespace, rayCluster string) (string, error) {
	secret, err := c.kubernetes.CoreV1().
		Secrets(namespace).
		Get(ctx, rayCluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf(
			"reading the Ray token of %q in namespace %q: %w",
			rayCluster,
			namespace,
			err,
		)
	}
	return strings.TrimSpace(string(secret.Data[tokenKey])), nil
}
