// Command kubernetes is one binary that is every part of a Kubernetes control plane, and kubectl.
//
// The parts share most of their code, so one link of all five takes a fifth of the time and of the disk that five
// binaries take. The part is chosen by the name that the binary is called by, or else by its first argument.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// Client metrics of the API machinery register themselves, as in the released binaries.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	part, args := choose(os.Args)
	if part == "etcd" {
		// etcd parses flags by itself and exits by itself.
		etcdmain.Main(append([]string{part}, args...))
		return
	}
	command, ok := commands()[part]
	if !ok {
		names := append(slices.Collect(maps.Keys(commands())), "etcd")
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "kubernetes: %q is no part of this binary; it is one of %s\n", part, strings.Join(names, ", "))
		os.Exit(2)
	}
	// The parts read os.Args in places (kubectl looks for plug-ins there), so it must look as if the part were called by its name.
	os.Args = append([]string{part}, args...)
	if part == "kubectl" {
		// kubectl prints its own errors, with hints that the others do not have.
		cmdutil.CheckErr(cli.RunNoErrOutput(command()))
		return
	}
	os.Exit(cli.Run(command()))
}

// choose returns the selected part, and with which arguments.
func choose(args []string) (string, []string) {
	name := filepath.Base(args[0])
	if _, ok := commands()[name]; ok || name == "etcd" {
		return name, args[1:]
	}
	if len(args) < 2 {
		return "", nil
	}
	return args[1], args[2:]
}

// commands are the parts that are cobra commands, by name.
func commands() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
	}
}
