package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Versions that no go.mod below tools/ has. The versions of the Go programs are read from there.
const (
	// eksVersion is the npm package's.
	eksVersion = "2.8.1"
	// kubernetesProviderVersion is what the provider reports. The module is a commit of January 2026
	// between the releases 4.24 and 4.25; Go's module proxy has no later one.
	kubernetesProviderVersion = "4.25.0-dev.f47bc2d6f199"
	// rayVersion is Ray's; torch comes with it. Both are those of AWS's image train-ml-cuda-v1.1.
	rayVersion = "2.58.0"
	// cfnLintVersion is that of tools/cloud-judges/requirements.txt. cfn-lint brings AWS's resource
	// schemas of its release date. The other judges are parliament (IAM), moto (AWS's APIs), zizmor
	// (GitHub's workflows) and botocore (AWS's API models).
	cfnLintVersion = "1.58.0"
	// checkovVersion is that of tools/checkov/requirements.txt. It needs other versions of many packages.
	checkovVersion = "3.3.30"
	// ruffVersion is that of tools/python-checks/requirements.txt, which also has mypy and pytest.
	ruffVersion = "0.17.6"
	// transformersVersion is that of tools/transformers/requirements.txt. It is not in the environment
	// of Ray, because that one is the image of a rehearsal.
	transformersVersion = "5.24.0"
)

const (
	modulePulumiKubernetes = "github.com/pulumi/pulumi-kubernetes/provider/v4"
	moduleKubeRay          = "github.com/ray-project/kuberay/ray-operator"
	packagePulumi          = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
	packageGolangciLint    = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
)

// eksLauncher runs the component provider from the folder of the script itself, whatever the working
// directory is.
const eksLauncher = `#!/bin/sh
exec node "$(dirname "$(readlink -f "$0")")/node_modules/@pulumi/eks/cmd/provider/index.js" "$@"
`

// goVersions are the versions of the Go programs.
type goVersions struct{ kubernetes, kubeRay, pulumi, golangciLint string }

// readVersions reads the versions from the go.mod files below tools/ of the checkout.
func readVersions(root string) (goVersions, error) {
	var v goVersions
	for _, one := range []struct {
		source, module string
		version        *string
	}{
		{"tools/kubernetes", "k8s.io/kubernetes", &v.kubernetes},
		{"tools/kuberay", moduleKubeRay, &v.kubeRay},
		{"tools/pulumi", "github.com/pulumi/pulumi/pkg/v3", &v.pulumi},
		{"tools/golangci-lint", "github.com/golangci/golangci-lint/v2", &v.golangciLint},
	} {
		path := filepath.Join(root, one.source, "go.mod")
		text, err := os.ReadFile(path)
		if err != nil {
			return v, fmt.Errorf("reading the version of %s: %w", one.module, err)
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(strings.TrimPrefix(line, "require "))
			if len(words) > 1 && words[0] == one.module {
				*one.version = words[1]
			}
		}
		if *one.version == "" {
			return v, fmt.Errorf("reading the version of %s: %q does not require it", one.module, path)
		}
	}
	return v, nil
}

// parts lists what a rehearsal needs that is not this project's own, in the order in which it is
// needed.
func parts(v goVersions) []recipe {
	return []recipe{
		{
			Name: "kubernetes", Version: v.kubernetes, Source: "tools/kubernetes",
			Lane: compiling, Facts: []fact{platform}, Prefetch: "./...",
			Steps: []step{
				goBuild("kubernetes", ".", kubernetesVersionFlags(v.kubernetes)...),
				goBuild("kubelet", "./kubelet", kubernetesVersionFlags(v.kubernetes)...),
			},
			Links: map[string]string{
				"kubernetes": "kubernetes", "kubectl": "kubernetes", "kubelet": "kubelet",
			},
		},
		{
			Name: "kuberay", Version: v.kubeRay, Source: "tools/kuberay", Lane: compiling, Facts: []fact{platform}, Prefetch: moduleKubeRay,
			Steps: []step{
				goBuild("kuberay-operator", moduleKubeRay),
				{Copy: &moduleCopy{Module: moduleKubeRay, Path: "config/crd/bases", To: "{out}/crds"}},
			},
			Links: map[string]string{"kuberay-operator": "kuberay-operator", "kuberay-crds": "crds"},
		},
		{
			Name: "pulumi", Version: v.pulumi, Source: "tools/pulumi", Lane: compiling, Facts: []fact{platform}, Prefetch: packagePulumi,
			// The Automation API refuses an engine that does not report its version.
			Steps: []step{goBuild("pulumi", packagePulumi,
				"github.com/pulumi/pulumi/sdk/v3/go/common/version.Version="+v.pulumi)},
			Links: map[string]string{"pulumi": "pulumi"},
		},
		{
			Name: "pulumi-kubernetes", Version: kubernetesProviderVersion, Source: "tools/pulumi-kubernetes", Lane: compiling, Facts: []fact{platform}, Prefetch: ".",
			Steps: []step{
				goBuild("pulumi-resource-kubernetes", ".", modulePulumiKubernetes+"/pkg/version.Version="+kubernetesProviderVersion),
				copyOfProvider("schema.json"), copyOfProvider("terraform-mapping.json"),
			},
			Links: map[string]string{"pulumi-resource-kubernetes": "pulumi-resource-kubernetes"},
		},
		{
			Name: "ray", Version: rayVersion, Source: "tools/ray", Lane: downloading, Facts: []fact{platform, python, cachePath},
			Steps: venv(),
			Links: map[string]string{"ray-venv": "venv"},
		},
		{
			Name: "eks", Version: eksVersion, Source: "tools/eks", Lane: downloading, Facts: []fact{platform},
			Steps: []step{
				{Run: []string{"cp", "package.json", "package-lock.json", "{out}"}},
				// Install scripts of dependencies would download plugins and binaries that a rehearsal does not use.
				{Run: []string{"npm", "ci", "--prefix", "{out}", "--ignore-scripts", "--no-audit", "--no-fund"}},
				{Write: &textFile{Path: "{out}/pulumi-resource-eks", Content: eksLauncher}},
			},
			Links: map[string]string{"pulumi-resource-eks": "pulumi-resource-eks"},
		},
		{
			Name: "cloud-judges", Version: cfnLintVersion, Source: "tools/cloud-judges", Lane: downloading,
			Facts: []fact{platform, python, cachePath}, Optional: true,
			Steps: venv(),
			Links: map[string]string{"cloud-judges": "venv"},
		},
		{
			Name: "checkov", Version: checkovVersion, Source: "tools/checkov", Lane: downloading,
			Facts: []fact{platform, python, cachePath}, Optional: true,
			Steps: venv(),
			Links: map[string]string{"checkov": "venv"},
		},
		{
			Name: "python-checks", Version: ruffVersion, Source: "tools/python-checks", Lane: downloading,
			Facts: []fact{platform, python, cachePath}, Optional: true,
			Steps: venv(),
			Links: map[string]string{"python-checks": "venv"},
		},
		{
			// Without torch and numpy, which Ray's environment has: tests use the packages of both.
			Name: "transformers", Version: transformersVersion, Source: "tools/transformers", Lane: downloading,
			Facts: []fact{platform, python, cachePath}, Optional: true,
			Steps: venv(),
			Links: map[string]string{"transformers": "venv"},
		},
		{
			Name: "golangci-lint", Version: v.golangciLint, Source: "tools/golangci-lint", Lane: compiling, Facts: []fact{platform}, Optional: true,
			Steps: []step{goBuild("golangci-lint", packageGolangciLint)},
			Links: map[string]string{"golangci-lint": "golangci-lint"},
		},
	}
}

// venv installs the packages of {source}'s requirements.txt, which names every one, so that nothing
// is left to resolve.
func venv() []step {
	return []step{
		{Run: []string{"python3", "-m", "venv", "{out}/venv"}},
		{Run: []string{"{out}/venv/bin/python", "-m", "pip", "install",
			"--disable-pip-version-check", "--no-deps", "-r", "{source}/requirements.txt"}},
	}
}

// goBuild builds one package of {source}'s module; variables are set as by the linker's -X.
func goBuild(output, pkg string, variables ...string) step {
	// Without symbol tables the binaries are a third smaller.
	flags := []string{"-s", "-w"}
	for _, variable := range variables {
		flags = append(flags, "-X", variable)
	}
	return step{Run: []string{"go", "build", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", "{out}/" + output, pkg}}
}

// kubernetesVersionFlags make the parts say which release they are; kubectl requires it.
func kubernetesVersionFlags(version string) []string {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var variables []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		variables = append(variables,
			pkg+".gitVersion="+version, pkg+".gitMajor="+numbers[0], pkg+".gitMinor="+numbers[1], pkg+".gitTreeState=clean")
	}
	return variables
}

// copyOfProvider copies a file that the Kubernetes provider's own main package embeds.
func copyOfProvider(name string) step {
	return step{Copy: &moduleCopy{Module: modulePulumiKubernetes, Path: "cmd/pulumi-resource-kubernetes/" + name, To: "{out}/" + name}}
}
