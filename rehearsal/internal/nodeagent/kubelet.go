package nodeagent

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// kubelet runs the process that manages the node's pods.
type kubelet struct {
	config  Config
	network *podnet.Node
	// folder is the kubelet's own. Root is a shorter path of it.
	folder, root string
}

// machine is what the kubelet's process reads (tools/kubernetes/kubelet).
type machine struct {
	Name                string          `json:"name"`
	RootDir             string          `json:"rootDir"`
	LogsDir             string          `json:"logsDir"`
	HostDir             string          `json:"hostDir"`
	Runtime             string          `json:"runtime"`
	Kubeconfig          string          `json:"kubeconfig"`
	Port                int             `json:"port"`
	CertFile            string          `json:"certFile"`
	KeyFile             string          `json:"keyFile"`
	ClientCAFile        string          `json:"clientCAFile"`
	ResolvConf          string          `json:"resolvConf"`
	ProviderID          string          `json:"providerID"`
	ClusterDNS          string          `json:"clusterDNS"`
	CPUMillis           int64           `json:"cpuMillis"`
	MemoryBytes         int64           `json:"memoryBytes"`
	ReservedCPUMillis   int64           `json:"reservedCPUMillis"`
	ReservedMemoryBytes int64           `json:"reservedMemoryBytes"`
	Pods                int64           `json:"pods"`
	BootID              string          `json:"bootID"`
	DevicesFile         string          `json:"devicesFile"`
	MaxRestartPeriod    metav1.Duration `json:"maxRestartPeriod"`
}

// run keeps a kubelet running until ctx ends.
func (k *kubelet) run(ctx context.Context, runtimeSocket, devices string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for requests to the kubelet: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	go k.forward(ctx, listener, "127.0.0.1:"+port)
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	file, err := k.describe(number, runtimeSocket, devices)
	if err != nil {
		return fmt.Errorf("describing node %q to its kubelet: %w", k.config.Spec.Name, err)
	}
	for {
		err := k.once(ctx, file)
		if ctx.Err() != nil {
			return nil
		}
		// systemd restarts the kubelet of a real machine, too.
		k.config.Log.Warn("kubelet ended, restarting it", "node", k.config.Spec.Name, "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// once runs the kubelet's process until it ends. The process is in the node's network, so that
// probes reach pods.
func (k *kubelet) once(ctx context.Context, file string) error {
	path := filepath.Join(filepath.Dir(k.folder), "kubelet.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(k.config.Kubelet, file)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = k.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Setsid: true}
	if err := k.network.Host().Start(cmd); err != nil {
		return fmt.Errorf("starting the kubelet: %w", err)
	}
	// A machine that loses its power does not shut its kubelet down.
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	return cmd.Wait()
}

// forward passes connections from the API server into the node's network.
func (k *kubelet) forward(ctx context.Context, listener net.Listener, inside string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			target, err := k.network.Host().DialContext(ctx, "tcp", inside)
			if err != nil {
				_ = conn.Close()
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close(); _ = target.Close() })
			defer stop()
			_ = podnet.Splice(conn, target)
		}()
	}
}

// describe writes the files that the kubelet reads.
func (k *kubelet) describe(port int, runtimeSocket, devices string) (path string, err error) {
	in := func(name string) string { return filepath.Join(k.folder, name) }
	spec, certificate := k.config.Spec, k.config.ServingCertificate
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return "", err
	}
	var chain []byte
	for _, block := range certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block})...)
	}
	description, err := json.Marshal(machine{
		Name: spec.Name, RootDir: k.root, LogsDir: in("logs"),
		HostDir: filepath.Join(spec.HostDir, "host"), DevicesFile: devices, Runtime: runtimeSocket,
		Kubeconfig: in("kubeconfig"), ResolvConf: in("resolv.conf"), Port: port,
		CertFile: in("kubelet.crt"), KeyFile: in("kubelet.key"), ClientCAFile: in("ca.crt"),
		ProviderID: spec.ProviderID, ClusterDNS: k.config.ClusterDNS.String(),
		CPUMillis: spec.CPU.MilliValue(), MemoryBytes: spec.Memory.Value(), Pods: spec.Pods.Value(),
		ReservedCPUMillis:   spec.CPU.MilliValue() - spec.AllocatableCPU.MilliValue(),
		ReservedMemoryBytes: spec.Memory.Value() - spec.AllocatableMemory.Value(),
		BootID:              fmt.Sprintf("%s-%d", spec.Name, time.Now().Unix()),
		MaxRestartPeriod:    metav1.Duration{Duration: k.config.MaxRestartPeriod},
	})
	if err != nil {
		return "", err
	}
	var problems []error
	for name, data := range map[string][]byte{
		"machine.json": description, "kubelet.crt": chain, "ca.crt": k.config.REST.CAData,
		"kubelet.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"resolv.conf": []byte("nameserver " + k.config.ClusterDNS.String() + "\n"),
	} {
		problems = append(problems, os.WriteFile(in(name), data, 0o600))
	}
	server, access := "https://"+k.config.APIServer.String(), k.config.REST
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[""] = &clientcmdapi.Cluster{
		Server: server, CertificateAuthorityData: access.CAData,
	}
	kubeconfig.AuthInfos[""] = &clientcmdapi.AuthInfo{
		ClientCertificateData: access.CertData, ClientKeyData: access.KeyData, Token: access.BearerToken,
	}
	kubeconfig.Contexts[""] = clientcmdapi.NewContext()
	problems = append(problems, clientcmd.WriteToFile(*kubeconfig, in("kubeconfig")))
	return in("machine.json"), errors.Join(problems...)
}

// unmountBelow detaches what a kubelet mounted for volumes, innermost first.
func unmountBelow(folder string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	var points []string
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			points = append(points, fields[4])
		}
	}
	for _, point := range slices.Backward(points) {
		_ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
}
