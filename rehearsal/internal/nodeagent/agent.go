package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// podsFolder holds what is private to the node's pods below a node's HostDir.
const podsFolder = "pods"

// Run is a node for as long as ctx lives: it registers the node, runs its kubelet and serves it a
// container runtime. It returns after the last process of its pods has ended. The node object
// stays, as that of a machine that lost its power; see Deregister.
//
// The program's main must call podinit.MaybeRun first thing, because containers start as copies of
// the program.
func Run(ctx context.Context, config Config) error {
	config, err := config.withDefaults()
	if err != nil {
		return err
	}
	failed := func(err error) error { return fmt.Errorf("starting node %q: %w", config.Spec.Name, err) }
	network, err := config.Network.AddNode(config.Spec.Address)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = network.Close() }() // only descriptors
	folder := filepath.Join(config.Spec.HostDir, podsFolder)
	k := &kubelet{config: config, network: network, folder: filepath.Join(folder, "kubelet")}
	// What an earlier kubelet left is of processes that are gone.
	unmountBelow(k.folder)
	if err := errors.Join(os.RemoveAll(k.folder), os.MkdirAll(k.folder, 0o755), os.MkdirAll(filepath.Join(folder, "runtime"), 0o755)); err != nil {
		return failed(err)
	}
	defer unmountBelow(k.folder)
	runtime, err := newRuntime(config, network, filepath.Join(folder, "runtime"))
	if err != nil {
		return failed(err)
	}
	defer runtime.close()
	if err := register(ctx, config); err != nil {
		return err
	}
	// The kubelet makes sockets in its folder, whose paths are limited to 108 bytes.
	k.root = filepath.Join(filepath.Dir(runtime.socket), "kubelet")
	if err := os.Symlink(k.folder, k.root); err != nil {
		return failed(err)
	}
	return k.run(ctx, runtime.socket, runtime.devices.path)
}

// Deregister removes what is left of a machine that is gone: its pods, at once, then its node
// object and lease. On AWS the cloud controller and the garbage collector do the same, within
// minutes.
func Deregister(ctx context.Context, config *rest.Config, name string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	now := int64(0)
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		return fmt.Errorf("listing pods of node %q: %w", name, err)
	}
	var problems []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		problems = append(problems, ignoreNotFound(client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})))
	}
	problems = append(problems,
		ignoreNotFound(client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})),
		ignoreNotFound(client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, name, metav1.DeleteOptions{})))
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("removing node %q: %w", name, err)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
