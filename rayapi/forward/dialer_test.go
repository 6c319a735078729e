package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/forward"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

// cluster plays the API server and the kubelet behind it: it lists pods and
// serves SPDY port-forwards, and refuses websockets as an old one does.
type cluster struct {
	mu sync.Mutex
	// backends maps a running pod to the address that its port leads to.
	backends map[string]string
	// created orders the pods.
	created map[string]time.Time
	hang    chan struct{}
	dialled []string
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const pods = "/api/v1/namespaces/ray/pods"
	switch {
	case r.URL.Path == pods:
		c.list(w)
	case strings.HasPrefix(r.URL.Path, pods+"/") && strings.HasSuffix(r.URL.Path, "/portforward"):
		if c.hang != nil {
			<-c.hang
			return
		}
		if r.Header.Get("Upgrade") == "websocket" {
			http.Error(w, "no websockets here", http.StatusForbidden)
			return
		}
		pod := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, pods+"/"), "/portforward")
		portforward.ServePortForward(w, r, c, pod, "", nil, time.Minute, time.Minute, portforward.SupportedProtocols)
	default:
		http.NotFound(w, r)
	}
}

func (c *cluster) list(w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for name := range c.backends {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(c.created[name])},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
	writeJSON(w, list)
}

// PortForward is the kubelet's part.
func (c *cluster) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	c.mu.Lock()
	address := c.backends[pod]
	c.dialled = append(c.dialled, pod+":"+strconv.Itoa(int(port)))
	c.mu.Unlock()
	backend, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer backend.Close()
	go func() { _, _ = io.Copy(backend, stream) }() //nolint:errcheck // ends with the stream
	_, err = io.Copy(stream, backend)
	return err
}

func newDialer(t *testing.T, c *cluster) *forward.Dialer {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return &forward.Dialer{
		Config: config, Kubernetes: client, Namespace: "ray",
		Selector: forward.HeadSelector("train"), Port: rayapi.DashboardPort,
	}
}

func TestRayThroughAForward(t *testing.T) {
	t.Parallel()
	ray := raytest.New()
	defer ray.Close()
	big := []byte(strings.Repeat("0123456789\n", 200_000))
	ray.AddFile("head0", "big.log", big)
	kube := &cluster{
		backends: map[string]string{"old": "127.0.0.1:1", "head": strings.TrimPrefix(ray.URL(), "http://")},
		created:  map[string]time.Time{"old": time.Unix(1, 0), "head": time.Unix(2, 0)},
	}
	client := rayapi.New(rayapi.Options{Dialer: newDialer(t, kube)})

	version, err := client.Version(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "2.58.0", version.RayVersion)
	text, err := client.ReadLog(t.Context(), "head0", "big.log")
	require.NoError(t, err)
	assert.Equal(t, big, text)
	assert.Equal(t, []string{"head:8265", "head:8265"}, kube.dialled, "each request dials the youngest head")

	_, err = client.Submit(t.Context(), rayapi.Submission{ID: "train-1", Entrypoint: "true"})
	require.NoError(t, err)
	ray.Lock()
	ray.AddFile("head0", "job-driver-train-1.log", []byte("hello\n"))
	ray.Jobs["train-1"].Status = rayapi.Succeeded
	ray.Unlock()
	var output strings.Builder
	require.NoError(t, client.TailDriverLog(t.Context(), "train-1", &output))
	assert.Equal(t, "hello\n", output.String(), "a websocket goes through it too")
}

func TestNodesComplaintBecomesTheError(t *testing.T) {
	t.Parallel()
	kube := &cluster{backends: map[string]string{"head": "127.0.0.1:1"}}
	conn, err := newDialer(t, kube).DialContext(t.Context(), "", "")
	if err == nil { // the node may complain sooner
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, forward.ErrRemote)
	assert.ErrorContains(t, err, "connection refused")
}

func TestNoHeadPod(t *testing.T) {
	t.Parallel()
	_, err := newDialer(t, &cluster{}).DialContext(t.Context(), "", "")
	require.ErrorIs(t, err, forward.ErrNoPod)
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	kube := &cluster{backends: map[string]string{"head": ""}, hang: make(chan struct{})}
	dialer := newDialer(t, kube)
	t.Cleanup(func() { close(kube.hang) }) // before the server's own clean-up, which waits for its handlers
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	_, err := dialer.DialContext(ctx, "", "")
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
	assert.Less(t, time.Since(start), 5*time.Second)
}
