package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// container runs the command of a test: it writes to both streams until the
// session, whose end the context tells, is over.
type container func(over <-chan struct{}, stdout, stderr io.Writer) error

// kubelet plays the API server and the kubelet behind it. It refuses websockets,
// as an old one does, and serves SPDY.
type kubelet struct {
	run container
	// silent is the end of a path that never answers; empty for none.
	silent string
	over   chan struct{}
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const pod = "/api/v1/namespaces/ray/pods/w1"
	switch {
	case k.silent != "" && strings.HasSuffix(r.URL.Path, k.silent) && r.Header.Get("Upgrade") != "websocket":
		<-k.over
	case r.URL.Path == pod:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.Pod{ //nolint:errcheck // the client's loss
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "w1"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray"}}},
		})
	case r.URL.Path != pod+"/exec":
		http.NotFound(w, r)
	case r.Header.Get("Upgrade") == "websocket":
		http.Error(w, "no websockets here", http.StatusForbidden)
	default:
		remotecommand.ServeExec(w, r, k, "w1", "", "ray", r.URL.Query()["command"],
			&remotecommand.Options{Stdout: true, Stderr: true}, time.Minute, time.Minute, []string{remotecommand.StreamProtocolV4Name})
	}
}

// ExecInContainer is the kubelet's part.
func (k *kubelet) ExecInContainer(_ context.Context, _, _, _ string, _ []string, _ io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return k.run(k.over, out, errOut)
}

func TestExec(t *testing.T) {
	t.Parallel()
	// flood prints more than is taken, and ends: what comes with a good exit
	// status is too much all the same.
	flood := func(to io.Writer, bytes int) error {
		_, err := io.CopyN(to, zeros{}, int64(bytes))
		return err
	}
	tests := []struct {
		name    string
		run     container
		silent  string
		timeout time.Duration
		want    string // standard output
		err     error
		says    []string
	}{
		{"prints and ends", func(_ <-chan struct{}, stdout, stderr io.Writer) error {
			_, err := fmt.Fprint(stdout, "hello\n")
			return errors.Join(err, flood(stderr, 100))
		}, "", time.Minute, "hello\n", nil, nil},
		{"prints all that is taken", func(_ <-chan struct{}, stdout, stderr io.Writer) error {
			return errors.Join(flood(stdout, execOutput), flood(stderr, execOutput))
		}, "", time.Minute, strings.Repeat("0", execOutput), nil, nil},
		{"fails", func(_ <-chan struct{}, _, stderr io.Writer) error {
			_, err := fmt.Fprint(stderr, "first\nno such device\n")
			return errors.Join(err, utilexec.CodeExitError{Err: errors.New("exit status 3"), Code: 3})
		}, "", time.Minute, "", nil, []string{`in pod "w1"`, `"no such device"`}},
		{"hangs", func(over <-chan struct{}, stdout, _ io.Writer) error {
			_, err := fmt.Fprint(stdout, "== fi_info\n== driver\n")
			<-over
			return err
		}, "", 2 * time.Second, "", ErrExecTimeout, []string{"after 2s", `running "sh -c nvidia-smi"`, `in pod "w1"`, `"== driver"`}},
		{"is never begun", nil, "/exec", time.Second, "", ErrExecTimeout, []string{"after 1s", `"sh -c nvidia-smi"`}},
		{"is not even looked for", nil, "/w1", time.Second, "", ErrExecTimeout, []string{"after 1s", `looking up pod "w1"`}},
		{"prints without end", func(over <-chan struct{}, stdout, _ io.Writer) error {
			for {
				select {
				case <-over:
					return nil
				default:
					if err := flood(stdout, 1<<16); err != nil {
						return err
					}
				}
			}
		}, "", time.Minute, "", ErrExecOutput, []string{"above 1048576 bytes on its standard output"}},
		{"prints one byte too many", func(_ <-chan struct{}, stdout, _ io.Writer) error {
			return flood(stdout, execOutput+1)
		}, "", time.Minute, "", ErrExecOutput, []string{"standard output"}},
		{"complains one byte too many", func(_ <-chan struct{}, _, stderr io.Writer) error {
			return flood(stderr, execOutput+1)
		}, "", time.Minute, "", ErrExecOutput, []string{"standard error"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			node := &kubelet{run: test.run, silent: test.silent, over: make(chan struct{})}
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(node.over) }) // before Close, which waits for the handlers
			cluster := connect(t, server.URL)
			cluster.execTimeout = test.timeout

			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a hang must be this test's failure
			defer cancel()
			got, err := cluster.Exec(ctx, "ray", "w1", []string{"sh", "-c", "nvidia-smi"})
			require.NoError(t, ctx.Err(), "it took as long as the caller let it")
			assert.True(t, test.want == got, "got %d bytes", len(got))
			if test.says == nil {
				require.NoError(t, err)
				return
			}
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
			}
			for _, part := range test.says {
				require.ErrorContains(t, err, part)
			}
			assert.Less(t, len(err.Error()), 3*quoted)
		})
	}
}

func TestExecEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	node := &kubelet{silent: "/exec", over: make(chan struct{})}
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(node.over) })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := connect(t, server.URL).Exec(ctx, "ray", "w1", []string{"true"})
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, ErrExecTimeout)
}

func TestCommandsHaveAMinute(t *testing.T) {
	t.Parallel()
	assert.Equal(t, time.Minute, connect(t, "http://localhost").execTimeout)
}

func connect(t *testing.T, url string) *Cluster {
	t.Helper()
	cluster, err := Connect(fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
"users":[{"name":"u","user":{}}]}`, url))
	require.NoError(t, err)
	return cluster
}

// zeros is an endless stream of the digit 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
