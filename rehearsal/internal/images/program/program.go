// Package program contains the programs of a rehearsal's containers that replace programs which
// need hardware or EKS's nodes: the decisions of the device plugins, and placeholders that do
// nothing.
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
)

// HostDir is the path of the node's folder in every pod of a rehearsal.
const HostDir = "/run/raytrain-rehearsal"

// Run runs the program args[0] until a signal stops it, and returns its exit status. It ignores
// further arguments, which charts and add-ons pass for the real programs.
func Run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, HostDir, os.Stdout, os.Stderr)
}

// names returns the programs that Run supports.
func names() []string {
	return []string{
		string(images.NVIDIADevicePlugin), string(images.EFADevicePlugin), string(images.CoreDNS),
		string(images.VPCCNI), string(images.KubeProxy), string(images.PodIdentityAgent), "sleep",
	}
}

func run(ctx context.Context, args []string, hostDir string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintf(stderr, "rehearsal-program: missing program; allowed: %s\n",
			strings.Join(names(), ", "))
		return 1
	}
	switch name := args[0]; name {
	case string(images.EFADevicePlugin):
		return efaDevicePlugin(ctx, hostDir, stdout, stderr)
	case string(images.NVIDIADevicePlugin):
		return nvidiaDevicePlugin(ctx, hostDir, stdout, stderr)
	case string(images.CoreDNS), string(images.VPCCNI), string(images.KubeProxy), string(images.PodIdentityAgent), "sleep":
		return stay(ctx, stdout, fmt.Sprintf("rehearsed %s: a placeholder that does nothing", name))
	default:
		fmt.Fprintf(stderr, "rehearsal-program: unknown program %q; allowed: %s\n", name,
			strings.Join(names(), ", "))
		return 1
	}
}

// efaDevicePlugin runs until it is stopped if the node has an EFA interface. Otherwise it ends
// immediately, so that its pod crash-loops like the real plugin's (aws/eks-charts#1239).
func efaDevicePlugin(ctx context.Context, hostDir string, stdout, stderr io.Writer) int {
	node, err := nodefacts.Read(hostDir)
	if err != nil {
		fmt.Fprintf(stderr, "rehearsed efa-device-plugin: %v\n", err)
		return 1
	}
	if node.EFAInterfaces == 0 {
		fmt.Fprintf(stderr,
			"rehearsed efa-device-plugin: No valid EFA devices found on node %q (%s): "+
				"its launch template has no network interface of type efa\n", node.Node, node.InstanceType)
		return 1
	}
	return stay(ctx, stdout,
		fmt.Sprintf("rehearsed efa-device-plugin: %d EFA interface(s) on node %q",
			node.EFAInterfaces, node.Node))
}

// nvidiaDevicePlugin runs until it is stopped, also on a node without GPUs, like the real one.
func nvidiaDevicePlugin(ctx context.Context, hostDir string, stdout, stderr io.Writer) int {
	node, err := nodefacts.Read(hostDir)
	if err != nil {
		fmt.Fprintf(stderr, "rehearsed nvidia-device-plugin: %v\n", err)
		return 1
	}
	if node.GPUs == 0 {
		return stay(ctx, stdout,
			fmt.Sprintf("rehearsed nvidia-device-plugin: no GPU on node %q, waiting", node.Node))
	}
	return stay(ctx, stdout, fmt.Sprintf("rehearsed nvidia-device-plugin: %d GPU(s) on node %q",
		node.GPUs, node.Node))
}

func stay(ctx context.Context, stdout io.Writer, message string) int {
	fmt.Fprintln(stdout, message)
	<-ctx.Done()
	return 0
}
