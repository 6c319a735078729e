// Command kubelet is the kubelet of a rehearsed machine: Kubernetes' own, run on dependencies that
// describe a machine which does not exist.
//
// The machine's size comes from a file instead of from /proc, its devices come from another file,
// there are no cgroups, and host paths are in a folder of the machine. Everything else is the real
// kubelet: admission, volumes, probes, restarts, lifecycle hooks, status, and its API.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	noop "go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/logs"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
)

// machine is the file that the command reads: what a rehearsal knows about one machine.
type machine struct {
	Name string `json:"name"`
	// RootDir, LogsDir and HostDir are the kubelet's own folder, that of the pods' logs, and the
	// one that host paths are below.
	RootDir string `json:"rootDir"`
	LogsDir string `json:"logsDir"`
	HostDir string `json:"hostDir"`
	// Runtime is the path of the container runtime's socket.
	Runtime    string `json:"runtime"`
	Kubeconfig string `json:"kubeconfig"`
	// Port is where the kubelet serves its API, on 127.0.0.1.
	Port         int32  `json:"port"`
	CertFile     string `json:"certFile"`
	KeyFile      string `json:"keyFile"`
	ClientCAFile string `json:"clientCAFile"`
	ResolvConf   string `json:"resolvConf"`
	ProviderID   string `json:"providerID"`
	ClusterDNS   string `json:"clusterDNS"`
	// Capacity and Reserved are in milli-CPUs and bytes.
	CPUMillis         int64  `json:"cpuMillis"`
	MemoryBytes       int64  `json:"memoryBytes"`
	ReservedCPUMillis int64  `json:"reservedCPUMillis"`
	ReservedMemory    int64  `json:"reservedMemoryBytes"`
	Pods              int32  `json:"pods"`
	BootID            string `json:"bootID"`
	// DevicesFile holds how many devices of each resource the running plugins have brought in.
	DevicesFile string `json:"devicesFile"`
	// MaxRestartPeriod bounds the time between restarts of a container.
	MaxRestartPeriod metav1.Duration `json:"maxRestartPeriod"`
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "kubelet: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the path of the file that describes the machine")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("reading the machine's description: %w", err)
	}
	var m machine
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("parsing the machine's description %q: %w", args[0], err)
	}
	logs.InitLogs()
	flags, config, err := m.configuration()
	if err != nil {
		return err
	}
	server := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *config}
	gate := utilfeature.DefaultMutableFeatureGate
	dependencies, err := m.dependencies(ctx, gate.SetFromMap(config.FeatureGates))
	if err != nil {
		return err
	}
	klog.InfoS("Starting the kubelet of a rehearsed machine", "node", m.Name)
	return app.Run(ctx, server, dependencies, gate)
}

// configuration is the kubelet's, without what needs a real machine.
func (m machine) configuration() (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	flags := options.NewKubeletFlags()
	flags.RootDirectory = m.RootDir
	flags.KubeConfig = m.Kubeconfig
	flags.HostnameOverride = m.Name
	// The rehearsal stands for the cloud's controller: it sets the node's addresses.
	flags.CloudProvider = "external"
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, fmt.Errorf("making the kubelet's configuration: %w", err)
	}
	config.ContainerRuntimeEndpoint = "unix://" + m.Runtime
	config.ImageServiceEndpoint = config.ContainerRuntimeEndpoint
	config.ProviderID = m.ProviderID
	config.Address, config.Port, config.HealthzPort = "127.0.0.1", m.Port, 0
	config.ReadOnlyPort = 0
	config.TLSCertFile, config.TLSPrivateKeyFile = m.CertFile, m.KeyFile
	config.RotateCertificates = false
	config.Authentication.Anonymous.Enabled = false
	config.Authentication.Webhook.Enabled = false
	config.Authentication.X509.ClientCAFile = m.ClientCAFile
	config.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeAlwaysAllow
	config.ClusterDomain, config.ClusterDNS = "cluster.local", []string{m.ClusterDNS}
	config.ResolverConfig = m.ResolvConf
	config.PodLogsDir = m.LogsDir
	config.MaxPods = m.Pods
	config.CgroupsPerQOS, config.EnforceNodeAllocatable = false, nil
	config.FailCgroupV1, config.FailSwapOn = false, false
	config.MakeIPTablesUtilChains = false
	config.ProtectKernelDefaults = false
	config.EvictionHard = nil
	config.LocalStorageCapacityIsolation = false
	config.ImageGCHighThresholdPercent, config.ImageGCLowThresholdPercent = 100, 99
	config.ImageMaximumGCAge.Duration = 0
	config.SerializeImagePulls = false
	config.RegistryPullQPS, config.RegistryBurst = 0, 0
	config.EnableControllerAttachDetach = false
	config.NodeStatusUpdateFrequency.Duration = statusPeriod
	config.CrashLoopBackOff.MaxContainerRestartPeriod = &m.MaxRestartPeriod
	config.FeatureGates = map[string]bool{
		// Restarts after 1 s, as a rehearsal must not wait as long as a cluster may.
		"ReduceDefaultCrashLoopBackOffDecay": true,
		"KubeletInUserNamespace":             true,
	}
	return flags, config, nil
}

// statusPeriod is how often the node's status is computed, which is also how long a new device
// stays unknown.
const statusPeriod = 2 * time.Second

func (m machine) dependencies(ctx context.Context, gateErr error) (*kubelet.Dependencies, error) {
	if gateErr != nil {
		return nil, fmt.Errorf("setting the kubelet's feature gates: %w", gateErr)
	}
	mounter := newMounter()
	plugins, err := m.volumePlugins(ctx)
	if err != nil {
		return nil, err
	}
	return &kubelet.Dependencies{
		CAdvisorInterface: &fakeMachine{machine: m},
		ContainerManager:  &containers{ContainerManager: cm.NewStubContainerManager(), machine: m, held: map[string]map[string][]int{}},
		Mounter:           mounter,
		HostUtil:          newHostUtil(),
		OSInterface:       system{},
		Subpather:         subpath.New(mounter),
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		TracerProvider:    noop.NewTracerProvider(),
		VolumePlugins:     plugins,
		TLSOptions:        &server.TLSOptions{CertFile: m.CertFile, KeyFile: m.KeyFile, ClientCAFile: m.ClientCAFile},
	}, nil
}
