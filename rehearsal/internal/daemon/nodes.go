package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/nodeagent"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// node is one running node agent.
type node struct {
	spec   api.NodeSpec
	cancel context.CancelFunc
	// done is closed when the agent has ended; err is then its result.
	done chan struct{}
	err  error
}

// setNodes starts and stops node agents until the cluster has the given nodes, and waits until
// those are Ready.
func (c *cluster) setNodes(ctx context.Context, specs []api.NodeSpec) error {
	c.nodesMu.Lock()
	defer c.nodesMu.Unlock()
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
		if err := c.setNode(spec); err != nil {
			return err
		}
	}
	for name, running := range c.nodes {
		if wanted[name] {
			continue
		}
		if err := c.removeNode(ctx, name, running); err != nil {
			return err
		}
	}
	for _, spec := range specs {
		if err := c.waitReady(ctx, spec.Name); err != nil {
			return err
		}
	}
	return nil
}

// setNode updates a node's facts and starts its agent if none runs.
func (c *cluster) setNode(spec api.NodeSpec) error {
	hostDir := filepath.Join(c.dir, "nodes", spec.Name)
	if err := os.MkdirAll(hostDir, 0o755); err != nil {
		return fmt.Errorf("making the folder of node %q: %w", spec.Name, err)
	}
	if err := spec.Facts.Write(hostDir); err != nil {
		return err
	}
	if err := standin.WriteDefect(hostDir, c.defect()); err != nil {
		return err
	}
	if c.nodes[spec.Name] != nil {
		return nil
	}
	config, err := c.agentConfig(spec, hostDir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &node{spec: spec, cancel: cancel, done: make(chan struct{})}
	c.nodes[spec.Name] = running
	go func() {
		defer close(running.done)
		running.err = nodeagent.Run(ctx, config)
		if running.err != nil && ctx.Err() == nil {
			c.log.Error("node agent ended", "node", spec.Name, "error", running.err)
			c.report(Incident{Text: fmt.Sprintf("the agent of node %q ended: %s", spec.Name,
				running.err)})
		}
	}()
	return nil
}

func (c *cluster) agentConfig(spec api.NodeSpec, hostDir string) (nodeagent.Config, error) {
	address, err := netip.ParseAddr(spec.PrivateIP)
	if err != nil {
		return nodeagent.Config{}, fmt.Errorf("reading the address of node %q: %w", spec.Name, err)
	}
	var taints []corev1.Taint
	for _, taint := range spec.Taints {
		taints = append(taints, corev1.Taint{Key: taint.Key, Value: taint.Value,
			Effect: corev1.TaintEffect(taint.Effect)})
	}
	config := c.agentBase
	config.Spec = nodeagent.Spec{
		Name: spec.Name, Address: address, ProviderID: spec.ProviderID,
		InstanceType: spec.InstanceType, Zone: spec.Zone, Region: spec.Region,
		Labels: spec.Labels, Taints: taints,
		CPU: milli(spec.CPUMillis), AllocatableCPU: milli(spec.AllocatableCPUMillis),
		Memory: mebi(spec.MemoryMiB), AllocatableMemory: mebi(spec.AllocatableMemoryMiB),
		Pods: *resource.NewQuantity(int64(spec.MaxPods), resource.DecimalSI),
		GPUs: spec.GPUs, EFAInterfaces: spec.EFAInterfaces, HostDir: hostDir,
	}
	return config, nil
}

func milli(value int) resource.Quantity {
	return *resource.NewMilliQuantity(int64(value), resource.DecimalSI)
}

func mebi(value int) resource.Quantity {
	return *resource.NewQuantity(int64(value)<<20, resource.BinarySI)
}

// removeNode stops an agent, with the processes of its pods, and deletes the node.
func (c *cluster) removeNode(ctx context.Context, name string, running *node) error {
	running.cancel()
	select {
	case <-running.done:
	case <-ctx.Done():
		return fmt.Errorf("ending node %q: %w", name, ctx.Err())
	}
	delete(c.nodes, name)
	return nodeagent.Deregister(ctx, c.agentBase.REST, name)
}

// restartNode ends a node's agent and all processes of its pods, and starts the node again after a
// time, as when the machine lost its power.
func (c *cluster) restartNode(ctx context.Context, name string, after time.Duration) error {
	c.nodesMu.Lock()
	defer c.nodesMu.Unlock()
	running := c.nodes[name]
	if running == nil {
		return fmt.Errorf("restarting node %q: the cluster has no such node", name)
	}
	running.cancel()
	select {
	case <-running.done:
	case <-ctx.Done():
		return fmt.Errorf("ending node %q: %w", name, ctx.Err())
	}
	delete(c.nodes, name)
	select {
	case <-time.After(after):
	case <-ctx.Done():
	}
	return errors.Join(ctx.Err(), c.setNode(running.spec))
}

// readyPoll is the interval between two reads of a node's Ready condition.
const readyPoll = 100 * time.Millisecond

func (c *cluster) waitReady(ctx context.Context, name string) error {
	for {
		found, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && isReady(found) {
			return nil
		}
		running := c.nodes[name]
		select {
		case <-running.done:
			return fmt.Errorf("waiting for node %q: its agent ended: %w", name, running.err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for node %q to become Ready: %w", name, ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
