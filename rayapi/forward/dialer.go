// Package forward dials a port of a pod through the Kubernetes API server, as kubectl port-forward does
// but without a local listener: each connection has its own tunnel, so a broken tunnel fails one
// request.
package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// ErrNoPod means that no running pod matches, so there is nothing to dial.
var ErrNoPod = errors.New("no running pod")

// dialTimeout bounds finding the pod and opening the tunnel, including an exec credential plugin of the
// kubeconfig.
const dialTimeout = 20 * time.Second

// Dialer opens connections to a port of the pod that matches a selector. The pod is looked up for each
// connection, because a head that was replaced has another name.
type Dialer struct {
	Config     *rest.Config
	Kubernetes kubernetes.Interface
	Namespace  string
	// Selector is a label selector, such as HeadSelector's.
	Selector string
	Port     int
}

// HeadSelector selects the head pod of a RayCluster by KubeRay's labels.
func HeadSelector(rayCluster string) string {
	return "ray.io/cluster=" + rayCluster + ",ray.io/node-type=head"
}

// DialContext opens a tunnel; network and address are ignored. When ctx ends it returns immediately,
// and the tunnel is closed in the background.
func (d *Dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	pod, err := d.pod(ctx)
	if err != nil {
		return nil, err
	}
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := d.open(pod)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("forwarding port %d of pod %q: %w", d.Port, pod, r.err)
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.conn != nil {
				_ = r.conn.Close() //nolint:errcheck // no caller waits for the error
			}
		}()
		return nil, fmt.Errorf("forwarding port %d of pod %q: %w", d.Port, pod, ctx.Err())
	}
}

// pod returns the name of the newest running pod: during a replacement the old one may still run.
func (d *Dialer) pod(ctx context.Context) (string, error) {
	list, err := d.Kubernetes.CoreV1().
		Pods(d.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: d.Selector})
	if err != nil {
		return "", fmt.Errorf(
			"looking for pod %q in namespace %q: %w",
			d.Selector,
			d.Namespace,
			err,
		)
	}
	var found *corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		if found == nil || found.CreationTimestamp.Before(&pod.CreationTimestamp) {
			found = pod
		}
	}
	if found == nil {
		return "", fmt.Errorf(
			"looking for pod %q in namespace %q: %w",
			d.Selector,
			d.Namespace,
			ErrNoPod,
		)
	}
	return found.Name, nil
}

// open opens the tunnel by websocket, or by SPDY if the API server or a proxy does not support that.
func (d *Dialer) open(pod string) (net.Conn, error) {
	url := d.Kubernetes.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(d.Namespace).Name(pod).SubResource("portforward").URL()
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, d.Config)
	if err != nil {
		return nil, fmt.Errorf("preparing a websocket: %w", err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(d.Config)
	if err != nil {
		return nil, fmt.Errorf("preparing SPDY: %w", err)
	}
	dialer := portforward.NewFallbackDialerForStreaming(
		websocket,
		spdy.NewDialerForStreaming(
			upgrader,
			&http.Client{Transport: transport},
			http.MethodPost,
			url,
		),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) },
	)
	tunnel, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("opening a tunnel: %w", err)
	}
	conn, err := newConn(tunnel, d.Port)
	if err != nil {
		_ = tunnel.Close() //nolint:errcheck // the first error explains more
		return nil, err
	}
	return conn, nil
}

// headers of the two streams that make one forwarded connection.
func headers(kind string, port int) http.Header {
	h := http.Header{}
	h.Set(corev1.StreamType, kind)
	h.Set(corev1.PortHeader, strconv.Itoa(port))
	h.Set(corev1.PortForwardRequestIDHeader, "0") // one connection per tunnel
	return h
}
