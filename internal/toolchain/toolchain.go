// Package toolchain finds the programs that a rehearsal runs: the Pulumi engine and its
// providers, the parts of a Kubernetes control plane, the KubeRay operator and Ray. Set-up
// (tools/setup) builds or installs them into a cache outside the checkout and links them into the
// checkout's bin folder; this package only finds them there.
package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrMissing means that a part of the toolchain is missing. `make build` installs it.
var ErrMissing = errors.New("run make build")

// ErrNoCheckout means that no folder on the way up to the file system's root is a checkout of this
// project.
var ErrNoCheckout = errors.New("not inside a checkout of ray-train-efa")

// modulePath is what the go.mod of the project's checkout says.
const modulePath = "github.com/ray-train-efa/ray-train-efa"

// Kubernetes are the parts of a control plane.
type Kubernetes struct {
	// Binary is all parts in one: its first argument, or the name that it is called by, is etcd,
	// kube-apiserver, kube-controller-manager, kube-scheduler or kubectl.
	Binary string
	// Kubectl is the same binary under the name of kubectl.
	Kubectl string
	// Kubelet is the kubelet of a rehearsed machine.
	Kubelet string
}

// Toolchain holds the absolute path of each part. Every path exists when Locate returns it.
type Toolchain struct {
	// Root is the checkout.
	Root string
	// Cache is the folder outside the checkout that holds the parts. Programs of the toolchain need
	// access to it.
	Cache string
	// Bin is the checkout's bin folder, for the PATH of the engine and its providers.
	Bin string
	// Raytrain is this project's own command.
	Raytrain string
	// Rehearse is the program behind `raytrain rehearse`.
	Rehearse string
	// Pulumi is the Pulumi engine's command line.
	Pulumi string
	// Kubernetes are the control plane's parts.
	Kubernetes Kubernetes
	// KubeRayOperator is the operator that turns a RayCluster into pods.
	KubeRayOperator string
	// KubeRayCRDs is a folder with one YAML file for each of KubeRay's kinds.
	KubeRayCRDs string
	// RayVenv is a Python virtual environment with Ray and torch: RayVenv/bin/ray, RayVenv/bin/python.
	RayVenv string
	// PluginAWS is the emulated AWS provider (this project's), PluginEKS and PluginKubernetes are
	// Pulumi's own.
	PluginAWS, PluginEKS, PluginKubernetes string
	// PluginRaytrain is the provider behind TrainingJob, in provider/ of the checkout.
	PluginRaytrain string
}

// Locate returns the toolchain of the checkout at root. Its error wraps ErrMissing, names all
// missing parts and the command to run.
func Locate(root string) (Toolchain, error) {
	return locate(root, func(t Toolchain) []string { return append(t.installed(), t.built()...) })
}

// LocateInstalled is like Locate, but requires only the parts that setup installs. The binaries
// that are built from the checkout may not exist.
func LocateInstalled(root string) (Toolchain, error) {
	return locate(root, Toolchain.installed)
}

// locate lays out the toolchain and checks that the wanted parts are there.
func locate(root string, wanted func(Toolchain) []string) (Toolchain, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return Toolchain{}, fmt.Errorf("resolving checkout %q: %w", root, err)
	}
	found := at(absolute)
	var missing []string
	for _, part := range wanted(found) {
		// Stat follows links: a link into a cache that was cleaned counts as missing.
		if _, err := os.Stat(part); err != nil {
			missing = append(missing, strings.TrimPrefix(part, absolute+string(filepath.Separator)))
		}
	}
	if len(missing) > 0 {
		return Toolchain{}, fmt.Errorf("finding the toolchain in %q: no %s: %w", absolute, strings.Join(missing, ", "), ErrMissing)
	}
	venv, err := filepath.EvalSymlinks(found.RayVenv)
	if err != nil {
		return Toolchain{}, fmt.Errorf("finding the cache of the toolchain: %w", err)
	}
	// CACHE/PART/venv
	found.Cache = filepath.Dir(filepath.Dir(venv))
	return found, nil
}

// at lays out the paths of the checkout at root, whether or not anything is there.
func at(root string) Toolchain {
	bin := filepath.Join(root, "bin")
	in := func(name string) string { return filepath.Join(bin, name) }
	return Toolchain{
		Root: root, Bin: bin,
		Raytrain:         in("raytrain"),
		Rehearse:         in("raytrain-rehearse"),
		Pulumi:           in("pulumi"),
		Kubernetes:       Kubernetes{Binary: in("kubernetes"), Kubectl: in("kubectl"), Kubelet: in("kubelet")},
		KubeRayOperator:  in("kuberay-operator"),
		KubeRayCRDs:      in("kuberay-crds"),
		RayVenv:          in("ray-venv"),
		PluginAWS:        in("pulumi-resource-aws"),
		PluginEKS:        in("pulumi-resource-eks"),
		PluginKubernetes: in("pulumi-resource-kubernetes"),
		PluginRaytrain:   filepath.Join(root, "provider", "pulumi-resource-raytrain"),
	}
}

// Packages returns the folder of the Python packages of a virtual environment in the bin folder that
// only tests use, such as "transformers". Its error wraps os.ErrNotExist.
func (t Toolchain) Packages(environment string) (string, error) {
	pattern := filepath.Join(t.Bin, environment, "lib", "python3*", "site-packages")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("finding %q: %w: run make judges", pattern, os.ErrNotExist)
	}
	return found[0], nil
}

// installed lists what set-up installs.
func (t Toolchain) installed() []string {
	return []string{
		t.Pulumi, t.Kubernetes.Binary, t.Kubernetes.Kubectl, t.Kubernetes.Kubelet, t.KubeRayOperator, t.KubeRayCRDs,
		filepath.Join(t.RayVenv, "bin", "ray"), t.PluginEKS, t.PluginKubernetes,
	}
}

// built lists what is built from the checkout itself.
func (t Toolchain) built() []string {
	return []string{t.Raytrain, t.Rehearse, t.PluginAWS, t.PluginRaytrain}
}

// FindRoot returns the nearest checkout at or above folder.
func FindRoot(folder string) (string, error) {
	start, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("resolving folder %q: %w", folder, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		switch {
		case err == nil && declares(string(content)):
			return at, nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("looking for the checkout above %q: %w", start, err)
		case at == filepath.Dir(at):
			return "", fmt.Errorf("looking for the checkout above %q: %w: name it with --root", start, ErrNoCheckout)
		}
	}
}

// declares reports whether a go.mod is the project's root module; modules below tools/ have longer
// paths.
func declares(goMod string) bool {
	for line := range strings.Lines(goMod) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == modulePath
		}
	}
	return false
}
