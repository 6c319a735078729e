package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// podsFolder is the folder in a node's HostDir that pods cannot see: it holds their volumes, logs
// and tokens.
const podsFolder = "pods"

// Run runs a node until ctx ends: it registers the node, and runs a kubelet and its container
// runtime. It returns after the last process of the node's pods has ended. The node object stays,
// as that of a machine that lost its power; see Deregister.
//
// The program's main must call podinit.MaybeRun before all else, because containers start as copies
// of the program.
func Run(ctx context.Context, config Config) error {
	config, err := config.withDefaults()
	if err != nil {
		return err
	}
	if err := run(ctx, config); err != nil {
		return fmt.Errorf("running node %q: %w", config.Spec.Name, err)
	}
	return nil
}

func run(ctx context.Context, config Config) error {
	network, err := config.Network.AddNode(config.Spec.Address)
	if err != nil {
		return err
	}
	defer func() { _ = network.Close() }() // only descriptors
	if config.Spec.HostDir, err = filepath.EvalSymlinks(config.Spec.HostDir); err != nil {
		return err
	}
	folder := filepath.Join(config.Spec.HostDir, podsFolder)
	k := &kubelet{config: config, network: network, folder: filepath.Join(folder, "kubelet")}
	runtimeFolder := filepath.Join(folder, "runtime")
	// What the node's previous kubelet left belongs to processes that are gone.
	unmountBelow(k.folder)
	if err := os.RemoveAll(k.folder); err != nil {
		return err
	}
	for _, path := range []string{k.folder, runtimeFolder} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	defer unmountBelow(k.folder)
	runtime, err := newRuntime(config, network, runtimeFolder)
	if err != nil {
		return err
	}
	defer runtime.close()
	if err := register(ctx, config, network.Host().Address); err != nil {
		return err
	}
	// The kubelet makes sockets in its folder, whose paths are limited to 108 bytes.
	k.root = filepath.Join(filepath.Dir(runtime.socket), "kubelet")
	if err := os.Symlink(k.folder, k.root); err != nil {
		return err
	}
	return k.run(ctx, runtime.socket, runtime.devices.path)
}

// Deregister removes what is left of a machine that is gone: its pods, its node object and its
// lease. On AWS the cloud controller and the garbage collector do the same within minutes.
func Deregister(ctx context.Context, config *rest.Config, name string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	now := int64(0)
	onNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, onNode)
	if err != nil {
		return fmt.Errorf("listing pods of node %q: %w", name, err)
	}
	var problems []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		atOnce := metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		}
		problems = append(problems, client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, atOnce))
	}
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	problems = append(problems,
		client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}),
		leases.Delete(ctx, name, metav1.DeleteOptions{}))
	problems = slices.DeleteFunc(problems, apierrors.IsNotFound)
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("removing node %q: %w", name, err)
	}
	return nil
}
