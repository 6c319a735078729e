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
	"errors"
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
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// machine is the file that the command reads. Package nodeagent of the rehearsal writes it.
type machine struct {
	Name string `json:"name"`
	// RootDir is the kubelet's own folder. Its path is short: the kubelet makes sockets there.
	RootDir string `json:"rootDir"`
	// LogsDir holds the logs of pods, HostDir the files that host paths mean.
	LogsDir string `json:"logsDir"`
	HostDir string `json:"hostDir"`
	// Runtime is the path of the container runtime's socket.
	Runtime    string `json:"runtime"`
	Kubeconfig string `json:"kubeconfig"`
	// Port is the port of 127.0.0.1 on which the kubelet serves its API.
	Port         int32  `json:"port"`
	CertFile     string `json:"certFile"`
	KeyFile      string `json:"keyFile"`
	ClientCAFile string `json:"clientCAFile"`
	ResolvConf   string `json:"resolvConf"`
	ProviderID   string `json:"providerID"`
	ClusterDNS   string `json:"clusterDNS"`
	// The machine has CPUMillis and MemoryBytes, of which pods may not use the reserved parts.
	CPUMillis           int64  `json:"cpuMillis"`
	MemoryBytes         int64  `json:"memoryBytes"`
	ReservedCPUMillis   int64  `json:"reservedCPUMillis"`
	ReservedMemoryBytes int64  `json:"reservedMemoryBytes"`
	Pods                int32  `json:"pods"`
	BootID              string `json:"bootID"`
	// DevicesFile says how many devices of each resource the running device plugins offer.
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
		return errors.New("give one argument: the file that describes the machine")
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
	if err := gate.SetFromMap(config.FeatureGates); err != nil {
		return fmt.Errorf("setting the kubelet's feature gates: %w", err)
	}
	dependencies, err := m.dependencies(ctx)
	if err != nil {
		return err
	}
	klog.InfoS("Starting the kubelet of a rehearsed machine", "node", m.Name)
	return app.Run(ctx, server, dependencies, gate)
}

// configuration is the kubelet's, without cgroups, eviction and what else needs a real machine.
func (m machine) configuration() (
	*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error,
) {
	flags := options.NewKubeletFlags()
	flags.RootDirectory = m.RootDir
	flags.KubeConfig = m.Kubeconfig
	flags.HostnameOverride = m.Name
	// The rehearsal sets the node's addresses, as the cloud's controller does on EKS.
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
		// The first restart comes after 1 s instead of 10.
		"ReduceDefaultCrashLoopBackOffDecay": true,
		// Where the daemon is not root, it is root of a user namespace.
		"KubeletInUserNamespace": true,
	}
	return flags, config, nil
}

// statusPeriod is how often the kubelet computes the node's status, and so how long a new device
// can stay unknown.
const statusPeriod = 2 * time.Second

// dependencies are the kubelet's, with stand-ins for what only a real machine has.
func (m machine) dependencies(ctx context.Context) (*kubelet.Dependencies, error) {
	mounter := mounter{mount.New("")}
	plugins, err := m.volumePlugins(ctx)
	if err != nil {
		return nil, err
	}
	return &kubelet.Dependencies{
		CAdvisorInterface: &fakeMachine{machine: m},
		ContainerManager:  newContainers(m),
		Mounter:           mounter,
		HostUtil:          hostUtil{hostutil.NewHostUtil()},
		OSInterface:       system{},
		Subpather:         subpath.New(mounter),
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		TracerProvider:    noop.NewTracerProvider(),
		VolumePlugins:     plugins,
		TLSOptions: &server.TLSOptions{
			CertFile: m.CertFile, KeyFile: m.KeyFile, ClientCAFile: m.ClientCAFile,
		},
	}, nil
}
