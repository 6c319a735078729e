package nodeagent_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet/clusterdns"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

const (
	apiServiceIP = "172.20.0.1"
	dnsServiceIP = "172.20.0.10"
	region       = "us-east-2"
	zone         = "us-east-2a"
)

// cluster is a real control plane with rehearsed nodes.
type cluster struct {
	t        *testing.T
	dir      string
	tools    toolchain.Toolchain
	config   *rest.Config
	client   kubernetes.Interface
	plane    *controlplane.ControlPlane
	network  *podnet.Network
	registry *images.Registry
	self     string // this test binary
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	c.tools, err = toolchain.Locate(root)
	require.NoError(t, err)
	began := time.Now()
	c.plane, err = controlplane.Start(t.Context(), controlplane.Config{
		Dir: filepath.Join(c.dir, "control-plane"), Tools: c.tools.Kubernetes, ClusterName: "nodes",
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.plane.Stop(context.WithoutCancel(t.Context()))) })
	t.Logf("control plane ready after %.1f s", time.Since(began).Seconds())
	c.config = c.plane.AdminConfig()
	c.client, err = kubernetes.NewForConfig(c.config)
	require.NoError(t, err)

	c.network, err = podnet.New(podnet.Config{ServiceAddresses: []netip.Addr{
		netip.MustParseAddr(apiServiceIP), netip.MustParseAddr(dnsServiceIP),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.network.Close()) })
	require.NoError(t, c.network.Proxy(t.Context(), apiServiceIP+":443", fmt.Sprintf("127.0.0.1:%d", c.plane.APIServerPort())))
	require.NoError(t, clusterdns.Start(t.Context(), clusterdns.Config{
		Client: c.client, Network: c.network, Address: netip.MustParseAddr(dnsServiceIP),
		Served: []netip.Addr{netip.MustParseAddr(apiServiceIP), netip.MustParseAddr(dnsServiceIP)},
	}))
	c.self, err = os.Executable()
	require.NoError(t, err)
	c.registry, err = images.New(t.Context(), "127.0.0.1:5000", images.Config{
		Raytrain: c.self, RayVenv: c.tools.RayVenv, Operator: c.tools.KubeRayOperator,
		StandIn: standin.Folder(root), Region: region,
	})
	require.NoError(t, err)
	return c
}

// spec is a machine of one of the two kinds that the program uses.
func (c *cluster) spec(name string, gpus, efa int) nodeagent.Spec {
	spec := nodeagent.Spec{
		Name: name, ProviderID: "aws:///" + zone + "/i-" + name, InstanceType: "m7i.xlarge", Zone: zone, Region: region,
		Labels: map[string]string{"role": "system"},
		CPU:    resource.MustParse("4"), Memory: resource.MustParse("16Gi"), Pods: resource.MustParse("58"),
		AllocatableCPU: resource.MustParse("3920m"), AllocatableMemory: resource.MustParse("14Gi"),
		GPUs: gpus, EFAInterfaces: efa,
		HostDir: filepath.Join(c.dir, name),
	}
	if gpus > 0 {
		spec.InstanceType = "g6.12xlarge"
		spec.Labels = map[string]string{"role": "gpu-worker", "nvidia.com/gpu.present": "true"}
		spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
		spec.CPU, spec.AllocatableCPU = resource.MustParse("48"), resource.MustParse("47810m")
		spec.Memory, spec.AllocatableMemory = resource.MustParse("192Gi"), resource.MustParse("180Gi")
	}
	return spec
}

// addNode starts a node, which ends with the test or when stop is called.
func (c *cluster) addNode(spec nodeagent.Spec, change ...func(*nodeagent.Config)) (stop func()) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(spec.HostDir, 0o755))
	facts := nodefacts.Facts{Rehearsed: true, Node: spec.Name, InstanceType: spec.InstanceType, GPUs: spec.GPUs, EFAInterfaces: spec.EFAInterfaces}
	require.NoError(c.t, facts.Write(spec.HostDir))
	certificate, err := c.plane.PKI().ServingCertificate("127.0.0.1")
	require.NoError(c.t, err)
	config := nodeagent.Config{
		REST: c.config, Spec: spec, Images: c.registry, Network: c.network,
		APIServer: netip.MustParseAddrPort(apiServiceIP + ":443"), ClusterDNS: netip.MustParseAddr(dnsServiceIP),
		ServingCertificate: certificate, Kubelet: c.tools.Kubernetes.Kubelet,
		HostPaths: []string{filepath.Dir(c.self), c.tools.Root},
		Log:       slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&config)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- nodeagent.Run(ctx, config) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			assert.NoError(c.t, err)
		case <-time.After(20 * time.Second):
			c.t.Errorf("node %q did not end", spec.Name)
		}
	})
	c.t.Cleanup(stop)
	return stop
}

// waitNode waits until a node is Ready.
func (c *cluster) waitNode(name string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		node, err := c.client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
	}, patience, 20*time.Millisecond)
}

// killKubelet ends the kubelet of a node as a crash would.
func (c *cluster) killKubelet(name string) {
	c.t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(c.t, err)
	for _, path := range commands {
		data, err := os.ReadFile(path)
		argv := strings.Split(string(data), "\x00")
		if err != nil || argv[0] != c.tools.Kubernetes.Kubelet || !strings.HasPrefix(argv[1], filepath.Join(c.dir, name)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(c.t, err)
		require.NoError(c.t, syscall.Kill(pid, syscall.SIGKILL))
		return
	}
	require.FailNow(c.t, "no kubelet runs", name)
}
