package main

import "strings"

// Versions of what set-up builds or installs. go.mod, the lock files and the notes beside them pin
// everything below.
const (
	kubernetesVersion = "v1.36.3"
	kubeRayVersion    = "v1.6.2"
	pulumiVersion     = "v3.276.0"
	// eksVersion is the npm package's.
	eksVersion = "2.8.1"
	// kubernetesProviderVersion is what the provider says it is. The module is a commit of January
	// 2026 between the releases 4.24 and 4.25; there is no later one that Go's module proxy has.
	kubernetesProviderVersion = "4.25.0-dev.f47bc2d6f199"
	// rayVersion is Ray's; torch comes with it. Both are those of AWS's image train-ml-cuda-v1.1.
	rayVersion          = "2.58.0"
	golangciLintVersion = "v2.12.2"
)

const (
	modulePulumiKubernetes = "github.com/pulumi/pulumi-kubernetes/provider/v4"
	moduleKubeRay          = "github.com/ray-project/kuberay/ray-operator"
	packagePulumi          = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
	packageGolangciLint    = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
)

// eksLauncher runs the component provider from the folder that the script itself lies in, wherever
// it is called from.
const eksLauncher = `#!/bin/sh
exec node "$(dirname "$(readlink -f "$0")")/node_modules/@pulumi/eks/cmd/provider/index.js" "$@"
`

// parts lists what a rehearsal needs that is not this project's own, in the order in which it is
// needed.
func parts() []recipe {
	return []recipe{
		{
			Name: "kubernetes", Version: kubernetesVersion, Source: "tools/kubernetes", Lane: compiling, Facts: []fact{platform}, Prefetch: ".",
			Steps: []step{goBuild("kubernetes", ".", kubernetesVersionFlags()...)},
			Links: map[string]string{"kubernetes": "kubernetes", "kubectl": "kubernetes"},
		},
		{
			Name: "kuberay", Version: kubeRayVersion, Source: "tools/kuberay", Lane: compiling, Facts: []fact{platform}, Prefetch: moduleKubeRay,
			Steps: []step{
				goBuild("kuberay-operator", moduleKubeRay),
				{Copy: &moduleCopy{Module: moduleKubeRay, Path: "config/crd/bases", To: "{out}/crds"}},
			},
			Links: map[string]string{"kuberay-operator": "kuberay-operator", "kuberay-crds": "crds"},
		},
		{
			Name: "pulumi", Version: pulumiVersion, Source: "tools/pulumi", Lane: compiling, Facts: []fact{platform}, Prefetch: packagePulumi,
			// Without its version the Automation API cannot tell what the engine can do, and refuses to use
			// it.
			Steps: []step{goBuild("pulumi", packagePulumi,
				"github.com/pulumi/pulumi/sdk/v3/go/common/version.Version="+pulumiVersion)},
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
			Steps: []step{
				{Run: []string{"python3", "-m", "venv", "{out}/venv"}},
				// The file names every package, so nothing is left to resolve.
				{Run: []string{"{out}/venv/bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "-r", "{source}/requirements.txt"}},
			},
			Links: map[string]string{"ray-venv": "venv"},
		},
		{
			Name: "eks", Version: eksVersion, Source: "tools/eks", Lane: downloading, Facts: []fact{platform},
			Steps: []step{
				{Run: []string{"cp", "package.json", "package-lock.json", "{out}"}},
				// Install scripts of dependencies would fetch plugins and binaries that nobody uses here.
				{Run: []string{"npm", "ci", "--prefix", "{out}", "--ignore-scripts", "--no-audit", "--no-fund"}},
				{Write: &textFile{Path: "{out}/pulumi-resource-eks", Content: eksLauncher}},
			},
			Links: map[string]string{"pulumi-resource-eks": "pulumi-resource-eks"},
		},
		{
			Name: "golangci-lint", Version: golangciLintVersion, Source: "tools/golangci-lint", Lane: compiling, Facts: []fact{platform}, Optional: true,
			Steps: []step{goBuild("golangci-lint", packageGolangciLint)},
			Links: map[string]string{"golangci-lint": "golangci-lint"},
		},
	}
}

// goBuild builds one package of {source}'s module; variables are set as by the linker's -X.
func goBuild(output, pkg string, variables ...string) step {
	// Without symbol tables the binaries are a third smaller, and nobody debugs them here.
	flags := []string{"-s", "-w"}
	for _, variable := range variables {
		flags = append(flags, "-X", variable)
	}
	return step{Run: []string{"go", "build", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", "{out}/" + output, pkg}}
}

// kubernetesVersionFlags make the parts say which release they are; kubectl refuses to work
// without.
func kubernetesVersionFlags() []string {
	numbers := strings.SplitN(strings.TrimPrefix(kubernetesVersion, "v"), ".", 3)
	var variables []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		variables = append(variables,
			pkg+".gitVersion="+kubernetesVersion, pkg+".gitMajor="+numbers[0], pkg+".gitMinor="+numbers[1], pkg+".gitTreeState=clean")
	}
	return variables
}

// copyOfProvider copies a file that the Kubernetes provider's own main package embeds.
func copyOfProvider(name string) step {
	return step{Copy: &moduleCopy{Module: modulePulumiKubernetes, Path: "cmd/pulumi-resource-kubernetes/" + name, To: "{out}/" + name}}
}
