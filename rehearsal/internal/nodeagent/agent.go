package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/podnet"
)

// podsFolder holds the pods' files below a node's HostDir.
const podsFolder = "pods"

// agent is one node's kubelet.
type agent struct {
	config   Config
	client   kubernetes.Interface
	network  *podnet.Node
	spawner  *spawner
	recorder record.EventRecorder
	devices  *devices
	port     int32
	started  time.Time

	mu      sync.Mutex
	workers map[types.UID]*worker
	running sync.WaitGroup
}

// Run is a node for as long as ctx lives: it registers the node, reports Ready,
// runs the pods bound to it, and serves the kubelet's API. It returns after the
// last process of its pods has ended. The node object stays, as that of a
// machine that lost its power; see Deregister.
//
// The program's main must call podinit.MaybeRun first thing, because containers
// start as copies of the program.
func Run(ctx context.Context, config Config) error {
	config, err := config.withDefaults()
	if err != nil {
		return err
	}
	a, closeAgent, err := newAgent(config)
	if err != nil {
		return fmt.Errorf("starting node %q: %w", config.Spec.Name, err)
	}
	defer closeAgent()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting node %q: %w", config.Spec.Name, err)
	}
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		a.port = int32(address.Port)
	}
	stopServer := a.serve(listener)
	defer stopServer()
	if err := a.register(ctx); err != nil {
		return err
	}
	var loops sync.WaitGroup
	loops.Go(func() { a.heartbeat(ctx) })
	loops.Go(func() { a.watchPods(ctx) })
	loops.Wait()
	a.running.Wait()
	return nil
}

func newAgent(config Config) (*agent, func(), error) {
	// One kubelet's limits (50 requests a second); client-go's default of 5
	// would be felt when a node starts ten pods at once.
	limited := rest.CopyConfig(config.REST)
	limited.QPS, limited.Burst = 50, 100
	client, err := kubernetes.NewForConfig(limited)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	// What an earlier run left is of processes that died with it.
	folder := filepath.Join(config.Spec.HostDir, podsFolder)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return nil, nil, fmt.Errorf("clearing the node's folder: %w", err)
	}
	network, err := config.Network.AddNode(config.Spec.Address)
	if err != nil {
		return nil, nil, err
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	a := &agent{
		config:   config,
		client:   client,
		network:  network,
		spawner:  newSpawner(),
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: config.Spec.Name}),
		devices:  newDevices(config.Spec),
		started:  time.Now(),
		workers:  map[types.UID]*worker{},
	}
	return a, func() {
		a.spawner.close()
		broadcaster.Shutdown()
		_ = network.Close() // only descriptors
	}, nil
}

// watchPods gives every pod bound to the node a worker, until ctx ends.
func (a *agent) watchPods(ctx context.Context) {
	selector := fields.OneTermEqualSelector("spec.nodeName", a.config.Spec.Name).String()
	source := cache.NewListWatchFromClient(a.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.ParseSelectorOrDie(selector))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { a.dispatch(ctx, object, false) },
			UpdateFunc: func(_, object any) { a.dispatch(ctx, object, false) },
			DeleteFunc: func(object any) { a.dispatch(ctx, object, true) },
		},
	})
	informer.RunWithContext(ctx)
}

func (a *agent) dispatch(ctx context.Context, object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w, known := a.workers[pod.UID]
	if !known {
		if gone || ctx.Err() != nil {
			return
		}
		w = newWorker(a, pod)
		a.workers[pod.UID] = w
		a.running.Go(func() {
			w.run(ctx)
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.workers, pod.UID)
		})
	}
	w.update(pod, gone)
}

// worker finds a pod's worker by name.
func (a *agent) worker(namespace, name string) (*worker, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workers {
		if w.namespace == namespace && w.name == name {
			return w, true
		}
	}
	return nil, false
}

// Deregister removes what is left of a machine that is gone: its pods, at once,
// then its node object and lease. On AWS the cloud controller and the garbage
// collector do the same, within minutes.
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
