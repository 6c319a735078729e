package settings

import "regexp"

// AddonVersions are the versions of the EKS add-ons. An empty one is EKS's default of the day on which
// the add-on is created.
type AddonVersions struct {
	VPCCNI, KubeProxy, CoreDNS, PodIdentityAgent string
}

var addonForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$`)

// pinnedAddons returns versions that were seen together on clusters of a Kubernetes version, and false
// for a version without such.
// Source: the record of a GPU cluster with EFA, and Terraform configurations, in public repositories
// of 2026.
func pinnedAddons(kubernetesVersion string) (AddonVersions, bool) {
	switch kubernetesVersion {
	case "1.36":
		return AddonVersions{
			VPCCNI: "v1.22.4-eksbuild.3", KubeProxy: "v1.36.0-eksbuild.21",
			CoreDNS: "v1.14.3-eksbuild.16", PodIdentityAgent: "v1.3.10-eksbuild.3",
		}, true
	case "1.35":
		return AddonVersions{
			VPCCNI: "v1.21.1-eksbuild.3", KubeProxy: "v1.35.0-eksbuild.2",
			CoreDNS: "v1.13.2-eksbuild.1", PodIdentityAgent: "v1.3.10-eksbuild.2",
		}, true
	default:
		return AddonVersions{}, false
	}
}

// pinAddons gives the add-ons that the settings leave open their pinned versions.
func pinAddons(s *Settings) {
	pinned, ok := pinnedAddons(s.KubernetesVersion)
	if !ok {
		return
	}
	for _, one := range []struct {
		at     *string
		pinned string
	}{
		{&s.Addons.VPCCNI, pinned.VPCCNI}, {&s.Addons.KubeProxy, pinned.KubeProxy},
		{&s.Addons.CoreDNS, pinned.CoreDNS}, {&s.Addons.PodIdentityAgent, pinned.PodIdentityAgent},
	} {
		if *one.at == "" {
			*one.at = one.pinned
		}
	}
}

func addonFields() []Field {
	field := func(key, name, example string, at func(*Settings) *string) Field {
		return Field{
			Key: "addons." + key, Type: String, Default: "", Example: example,
			Description: "Version of the EKS add-on " + name + ". Empty means the one pinned for " +
				"kubernetesVersion 1.35 and 1.36, and EKS's default for another version.",
			Allowed: "a version such as " + example + " (aws eks describe-addon-versions), or empty",
			set:     optional(matching(addonForm, at)),
		}
	}
	return []Field{
		field("vpcCni", "vpc-cni", "v1.22.4-eksbuild.3", func(s *Settings) *string { return &s.Addons.VPCCNI }),
		field("kubeProxy", "kube-proxy", "v1.36.0-eksbuild.21", func(s *Settings) *string { return &s.Addons.KubeProxy }),
		field("coredns", "coredns", "v1.14.3-eksbuild.16", func(s *Settings) *string { return &s.Addons.CoreDNS }),
		field("podIdentityAgent", "eks-pod-identity-agent", "v1.3.10-eksbuild.3",
			func(s *Settings) *string { return &s.Addons.PodIdentityAgent }),
	}
}
