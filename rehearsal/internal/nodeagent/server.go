package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	// streamIdle ends a stream that carried nothing for so long: the kubelet's
	// default.
	streamIdle = 4 * time.Hour
	// headerTimeout bounds how long a client may take to ask.
	headerTimeout = 30 * time.Second
)

// serve answers the kubelet's API on the listener, to clients that have a
// certificate of the cluster. The function that it returns ends it.
func (a *agent) serve(listener net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /pods", a.servePods)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", a.serveLogs)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", a.serveExec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", a.serveAttach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", a.servePortForward)
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(a.config.Log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			Certificates: []tls.Certificate{a.config.ServingCertificate},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    a.config.ClientCAs,
			// The streaming protocols take over the connection, which HTTP/2
			// does not allow.
			NextProtos: []string{"http/1.1"},
		},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with ErrServerClosed
	return func() { _ = server.Close() }
}

// target finds the pod that a request is about, or answers 404.
func (a *agent) target(w http.ResponseWriter, r *http.Request) (*worker, bool) {
	worker, ok := a.worker(r.PathValue("namespace"), r.PathValue("pod"))
	if !ok {
		http.Error(w, fmt.Sprintf("pod %q not found in namespace %q", r.PathValue("pod"), r.PathValue("namespace")), http.StatusNotFound)
	}
	return worker, ok
}

func (a *agent) servePods(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	a.mu.Lock()
	for _, worker := range a.workers {
		worker.mu.Lock()
		list.Items = append(list.Items, *worker.latest)
		worker.mu.Unlock()
	}
	a.mu.Unlock()
	data, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

func (a *agent) serveLogs(w http.ResponseWriter, r *http.Request) {
	worker, ok := a.target(w, r)
	if !ok {
		return
	}
	options, err := parseLogOptions(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	container := r.PathValue("container")
	path, live, err := worker.log(container, options.previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	flush := flusher{w, http.NewResponseController(w)}
	_ = flush.control.Flush() // a follower wants to know at once that it was accepted
	if err := readLog(r.Context(), path, live, options, flush); err != nil && r.Context().Err() == nil {
		a.config.Log.Warn("serving a container log", "pod", r.PathValue("pod"), "container", container, "error", err)
	}
}

// flusher sends every line on its way, for those who follow.
type flusher struct {
	io.Writer
	control *http.ResponseController
}

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.control.Flush()
}

// log finds the log of a container's latest run or the one before.
func (w *worker) log(container string, previous bool) (path string, live *logFile, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.runs[container]
	switch {
	case !ok:
		return "", nil, fmt.Errorf("container %q in pod %q is waiting to start", container, w.name)
	case previous && run.attempt == 0:
		return "", nil, fmt.Errorf("previous terminated container %q in pod %q not found", container, w.name)
	case previous:
		return w.logPath(container, run.attempt-1), nil, nil
	}
	return w.logPath(container, run.attempt), run.process.log, nil
}

// runOf finds the latest run of a container, which must not have ended.
func (w *worker) runOf(container string) (*containerRun, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.runs[container]
	if !ok {
		return nil, fmt.Errorf("container %q in pod %q is not running", container, w.name)
	}
	select {
	case <-run.process.done:
		return nil, fmt.Errorf("container %q in pod %q is not running", container, w.name)
	default:
		return run, nil
	}
}

// stream prepares what exec and attach have in common.
func (a *agent) stream(w http.ResponseWriter, r *http.Request) (*worker, *remotecommand.Options, bool) {
	worker, ok := a.target(w, r)
	if !ok {
		return nil, nil, false
	}
	options, err := remotecommand.NewOptions(r)
	if err == nil {
		_, err = worker.runOf(r.PathValue("container"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil, false
	}
	return worker, options, true
}

func (a *agent) serveExec(w http.ResponseWriter, r *http.Request) {
	worker, options, ok := a.stream(w, r)
	if !ok {
		return
	}
	command := r.URL.Query()["command"]
	remotecommand.ServeExec(w, r, worker, worker.name, string(worker.uid), r.PathValue("container"), command, options,
		streamIdle, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (a *agent) serveAttach(w http.ResponseWriter, r *http.Request) {
	worker, options, ok := a.stream(w, r)
	if !ok {
		return
	}
	remotecommand.ServeAttach(w, r, worker, worker.name, string(worker.uid), r.PathValue("container"), options,
		streamIdle, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (a *agent) servePortForward(w http.ResponseWriter, r *http.Request) {
	worker, ok := a.target(w, r)
	if !ok {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, worker, worker.name, string(worker.uid), options,
		streamIdle, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

var (
	_ remotecommand.Executor    = (*worker)(nil)
	_ remotecommand.Attacher    = (*worker)(nil)
	_ portforward.PortForwarder = (*worker)(nil)
)

// errNoNetwork is what a port-forward gets whose pod is not set up yet.
var errNoNetwork = errors.New("the pod has no network yet")

// network gives the pod's sandbox once it is there.
func (w *worker) network(ctx context.Context) (dialer, error) {
	var found dialer
	done := make(chan struct{})
	go w.post(func() {
		if w.sandbox != nil {
			found = w.sandbox
		}
		close(done)
	})
	select {
	case <-done:
	case <-w.finished:
	case <-ctx.Done():
	}
	select {
	case <-done:
		if found != nil {
			return found, nil
		}
	default:
	}
	return nil, errNoNetwork
}

type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
