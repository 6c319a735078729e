package eks

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// kubernetesVersion is one version that EKS offers.
type kubernetesVersion struct {
	Minor string
	// Released is the day on which EKS first offered it.
	Released string
	// Patch is the newest patch that EKS runs.
	Patch int
	// Default reports whether this is the default version.
	Default bool
}

// kubernetesVersions are those in standard support in the rehearsed region. The set and
// the dates follow EKS's calendar of one minor every four months; they are the
// rehearsal's own, not a copy of EKS's table.
func kubernetesVersions() []kubernetesVersion {
	return []kubernetesVersion{
		{"1.34", "2025-10-02", 6, false},
		{"1.35", "2026-01-28", 4, false},
		{"1.36", "2026-06-02", 3, true},
	}
}

func findVersion(minor string) (kubernetesVersion, bool) {
	i := slices.IndexFunc(kubernetesVersions(),
		func(v kubernetesVersion) bool { return v.Minor == minor })
	if i < 0 {
		return kubernetesVersion{}, false
	}
	return kubernetesVersions()[i], true
}

// DefaultVersion returns the Kubernetes version of a cluster that names none.
func DefaultVersion() string {
	i := slices.IndexFunc(kubernetesVersions(), func(v kubernetesVersion) bool { return v.Default })
	return kubernetesVersions()[i].Minor
}

func versionNames() string {
	var names []string
	for _, v := range kubernetesVersions() {
		names = append(names, v.Minor)
	}
	return strings.Join(names, ", ")
}

// DefaultRelease returns the AMI release of a node group that names neither version nor release.
func DefaultRelease() string {
	v, _ := findVersion(DefaultVersion())
	return v.latestRelease()
}

// latestRelease returns the default AMI release of a node group.
func (v kubernetesVersion) latestRelease() string {
	return v.Minor + "." + string(rune('0'+v.Patch)) + "-" + newestAMI
}

// releaseOf returns the release of the AMI of a day. AMIs before the newest have the patch before;
// that is the rehearsal's own rule.
func (v kubernetesVersion) releaseOf(day string) string {
	patch := v.Patch
	if day < newestAMI {
		patch--
	}
	return v.Minor + "." + string(rune('0'+patch)) + "-" + day
}

// newestAMI is the day of the newest AMIs. It is fixed, so that a rehearsal does not
// depend on the clock of the machine.
const newestAMI = "20261101"

// releaseExists reports whether a release could be one of a version's: its form, its minor,
// a patch that exists, a date between the version's first day and the newest AMI's.
// Source of the form: EKS user guide, "Retrieve Amazon Linux AMI version information".
func (v kubernetesVersion) releaseExists(release string) bool {
	parts := regexp.MustCompile(`^(\d+\.\d+)\.(\d)-(\d{8})$`).FindStringSubmatch(release)
	if parts == nil || parts[1] != v.Minor || int(parts[2][0]-'0') > v.Patch {
		return false
	}
	first := strings.ReplaceAll(v.Released, "-", "")
	_, err := time.Parse("20060102", parts[3])
	return err == nil && first <= parts[3] && parts[3] <= newestAMI
}

// addonVersions lists an add-on's versions for a Kubernetes version, newest first; nil
// when EKS has no such add-on.
//
// Sources: versions seen in public repositories of 2026 with Kubernetes 1.34 to 1.36. kube-proxy
// follows the cluster's version; its other builds here are the rehearsal's own.
func addonVersions(name, minor string) []string {
	v, ok := findVersion(minor)
	if !ok {
		return nil
	}
	switch name {
	case "vpc-cni":
		return []string{
			"v1.22.4-eksbuild.3",
			"v1.22.3-eksbuild.1",
			"v1.21.1-eksbuild.7",
			"v1.21.1-eksbuild.5",
			"v1.21.1-eksbuild.3",
		}
	case "coredns":
		if minor == "1.36" {
			return []string{"v1.14.3-eksbuild.23", "v1.14.3-eksbuild.16", "v1.14.3-eksbuild.3"}
		}
		return []string{"v1.13.2-eksbuild.4", "v1.13.2-eksbuild.3", "v1.13.2-eksbuild.1"}
	case "kube-proxy":
		var all []string
		for patch := v.Patch; patch >= 0; patch-- {
			for _, build := range []string{"21", "2", "1"} {
				all = append(all, "v"+minor+"."+string(rune('0'+patch))+"-eksbuild."+build)
			}
		}
		return all
	case "eks-pod-identity-agent":
		return []string{"v1.3.10-eksbuild.3", "v1.3.10-eksbuild.2", "v1.3.10-eksbuild.1"}
	case "aws-ebs-csi-driver":
		return []string{"v1.60.0-eksbuild.1", "v1.57.1-eksbuild.1"}
	case "metrics-server":
		return []string{"v0.8.1-eksbuild.2"}
	default:
		return nil
	}
}

type parameterArgs struct {
	Name           string `json:"name"`
	WithDecryption *bool  `json:"withDecryption"`
}

type parameterResult struct {
	ARN           string `json:"arn"`
	ID            string `json:"id"`
	InsecureValue string `json:"insecureValue"`
	Name          string `json:"name"`
	Type          string `json:"type"`
	Value         string `json:"value"`
	Version       int    `json:"version"`
}

// getParameter returns the public parameters of the EKS AMIs.
// Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs":
// /aws/service/eks/optimized-ami/VERSION/amazon-linux-2023/ARCH/VARIANT/IMAGE/WHAT. IMAGE is
// "recommended" or the name of an AMI (Karpenter, pkg/providers/amifamily/al2023.go).
func getParameter(o *store.Op, args parameterArgs) (any, error) {
	missing := api.Errorf("ParameterNotFound", "couldn't find SSM Parameter %q", args.Name)
	parts := strings.Split(strings.TrimPrefix(args.Name, "/aws/service/eks/optimized-ami/"), "/")
	if !strings.HasPrefix(args.Name, "/aws/service/eks/optimized-ami/") || len(parts) != 6 ||
		parts[1] != "amazon-linux-2023" {
		return nil, missing
	}
	version, ok := findVersion(parts[0])
	variants := []string{"standard", "nvidia", "neuron"}
	if !ok || !slices.Contains(variants, parts[3]) || parts[2] != "x86_64" && parts[2] != "arm64" {
		return nil, missing
	}
	release := version.latestRelease()
	if parts[4] != "recommended" {
		day, ours := strings.CutPrefix(parts[4],
			"amazon-eks-node-al2023-"+parts[2]+"-"+parts[3]+"-"+parts[0]+"-v")
		if release = version.releaseOf(day); !ours || !version.releaseExists(release) {
			return nil, missing
		}
	}
	var value string
	switch parts[5] {
	case "release_version":
		value = release
	case "image_id":
		value = "ami-" + store.StableHex("AL2023_x86_64_"+strings.ToUpper(parts[3])+release, 17)
	default:
		return nil, missing
	}
	return parameterResult{
		ARN: "arn:aws:ssm:" + o.Region + "::parameter" + args.Name, ID: args.Name,
		InsecureValue: value,
		Name:          args.Name, Type: "String", Value: value, Version: 1,
	}, nil
}
