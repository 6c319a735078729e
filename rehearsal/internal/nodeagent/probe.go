package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent/podinit"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// probeKind is one of a container's three probes.
type probeKind string

const (
	startupProbe   probeKind = "Startup"
	readinessProbe probeKind = "Readiness"
	livenessProbe  probeKind = "Liveness"
)

// probeCounter turns single results into a verdict: it takes a threshold of
// equal results in a row to change it.
type probeCounter struct {
	verdict            bool
	same               int32 // results in a row that were like latest
	latest             bool
	successes, failers int32 // thresholds
}

func newProbeCounter(kind probeKind, probe *corev1.Probe) *probeCounter {
	return &probeCounter{
		// A container is thought alive, but not started nor ready, until the
		// probe has spoken.
		verdict:   kind == livenessProbe,
		successes: max(probe.SuccessThreshold, 1),
		failers:   max(probe.FailureThreshold, 1),
	}
}

// record takes one result and says whether it decided anything: for a failure
// that is each time the threshold is reached, for a success only a change.
func (c *probeCounter) record(ok bool) (decided bool) {
	if ok == c.latest {
		c.same++
	} else {
		c.latest, c.same = ok, 1
	}
	if ok {
		decided = !c.verdict && c.same >= c.successes
	} else {
		decided = c.same == c.failers
	}
	if decided {
		c.verdict = ok
	}
	return decided
}

// prober runs the probes of one run of a container.
type prober struct {
	container *corev1.Container
	process   *process
	sandbox   *podnet.Sandbox
	env       []string
	// decided is called when a probe's verdict changes, or when a failing one
	// reaches its threshold.
	decided func(kind probeKind, ok bool)
	// failed is called for every single failure, with its reason.
	failed func(kind probeKind, reason error)
}

// run keeps one probe going until the container's run ends, or, for a startup
// probe, until it has succeeded.
func (p *prober) run(ctx context.Context, kind probeKind, probe *corev1.Probe) {
	counter := newProbeCounter(kind, probe)
	timer := time.NewTimer(time.Duration(probe.InitialDelaySeconds) * time.Second)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.process.done:
			return
		case <-timer.C:
		}
		timer.Reset(time.Duration(max(probe.PeriodSeconds, 1)) * time.Second)
		err := p.once(ctx, probe)
		if ctx.Err() != nil || errors.Is(err, errContainerEnded) {
			return
		}
		if err != nil {
			p.failed(kind, err)
		}
		if counter.record(err == nil) {
			p.decided(kind, err == nil)
			if kind == startupProbe {
				return
			}
		}
	}
}

// once does one probe within its time limit.
func (p *prober) once(ctx context.Context, probe *corev1.Probe) error {
	limit := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case probe.Exec != nil:
		return p.exec(ctx, probe.Exec.Command, limit)
	case probe.HTTPGet != nil:
		return p.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		port, err := p.port(probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		conn, err := p.sandbox.DialContext(ctx, "tcp", net.JoinHostPort(p.host(probe.TCPSocket.Host), port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return errors.New("probe type is not rehearsed: want exec, httpGet or tcpSocket")
}

func (p *prober) exec(ctx context.Context, command []string, limit time.Duration) error {
	output := &probeOutput{}
	code, err := p.process.exec(ctx, execOptions{
		command: podinit.Command{Argv: command, Env: p.env, Dir: p.container.WorkingDir},
		stdout:  output, stderr: output,
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("command %q timed out after %s", command, limit)
	case err != nil:
		return err
	case code != 0:
		return fmt.Errorf("command %q ended with status %d: %s", command, code, output.text())
	}
	return nil
}

// probeOutput keeps the beginning of what a probe's command says, on either of
// its outputs.
type probeOutput struct {
	mu   sync.Mutex
	kept []byte
}

func (o *probeOutput) Write(p []byte) (int, error) {
	const longest = 10 << 10 // the kubelet's limit
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p[:min(len(p), longest-len(o.kept))]...)
	return len(p), nil
}

func (o *probeOutput) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

func (p *prober) get(ctx context.Context, action *corev1.HTTPGetAction) error {
	port, err := p.port(action.Port)
	if err != nil {
		return err
	}
	scheme := "http"
	if action.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	path := action.Path
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	url := scheme + "://" + net.JoinHostPort(p.host(action.Host), port) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("making request: %w", err)
	}
	request.Header.Set("User-Agent", "kube-probe/rehearsal")
	for _, header := range action.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
		if header.Name == "Host" {
			request.Host = header.Value
		}
	}
	client := http.Client{
		Transport: &http.Transport{
			DialContext:       p.sandbox.DialContext,
			DisableKeepAlives: true,
			// Kubelets do not check certificates of pods either.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

func (p *prober) host(override string) string {
	if override != "" {
		return override
	}
	return p.sandbox.Address.String()
}

// port resolves a number or the name of one of the container's ports.
func (p *prober) port(port intstr.IntOrString) (string, error) {
	if port.Type == intstr.Int {
		return strconv.Itoa(port.IntValue()), nil
	}
	for _, known := range p.container.Ports {
		if known.Name == port.StrVal {
			return strconv.Itoa(int(known.ContainerPort)), nil
		}
	}
	return "", fmt.Errorf("container %q has no port named %q", p.container.Name, port.StrVal)
}
