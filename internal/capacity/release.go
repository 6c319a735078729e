package capacity

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Variant is a variant of EKS's Amazon Linux 2023 AMI for x86-64, as the names of its parameters have
// it.
type Variant string

// The variants of the two node groups.
const (
	NVIDIAVariant   Variant = "nvidia"
	StandardVariant Variant = "standard"
)

// Recommended is the name of the newest AMI among the parameters.
const Recommended = "recommended"

// AMIParameter returns the public parameter of Systems Manager that holds the release of an AMI of a
// Kubernetes version. image is Recommended or the AMI's name.
// Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs"; Karpenter,
// pkg/providers/amifamily/al2023.go, for other than the recommended AMI.
func AMIParameter(kubernetesVersion string, variant Variant, image string) string {
	return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/x86_64/%s/%s/release_version",
		kubernetesVersion, variant, image)
}

// checkRelease refuses an AMI release that does not exist. EKS would refuse it after the control plane
// was created. A release that is recommended exists; of another one, the AMI of its day has a
// parameter.
func (c *check) checkRelease(setting string, group Group, variant Variant) error {
	minor := c.request.KubernetesVersion
	recommended, err := c.source.AMIRelease(AMIParameter(minor, variant, Recommended))
	switch {
	case c.unknown.denied(fmt.Sprintf("whether %s %q exists", setting, group.AMIRelease), err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the recommended AMI of Kubernetes %q: %w", minor, err)
	case recommended == "" || recommended == group.AMIRelease:
		return nil // without a recommended AMI, EKS does not support the version: support says so
	}
	_, day, _ := strings.Cut(group.AMIRelease, "-")
	name := fmt.Sprintf("amazon-eks-node-al2023-x86_64-%s-%s-v%s", variant, minor, day)
	found, err := c.source.AMIRelease(AMIParameter(minor, variant, name))
	if err != nil {
		return fmt.Errorf("reading the release of AMI %q: %w", name, err)
	}
	if found == group.AMIRelease {
		return nil
	}
	cause := fmt.Sprintf("EKS has no AMI %s in %s", name, c.request.Region)
	if found != "" {
		recommended = found
		cause = fmt.Sprintf("the release of %s is %s", name, found)
	}
	return refuse(CodeAMIRelease, fmt.Sprintf("%s %q", setting, group.AMIRelease), cause,
		fmt.Sprintf("pulumi config set --path %s %s", setting, recommended))
}

// Addon is an add-on of EKS with its version.
type Addon struct {
	// Setting is the setting of the version, Name the add-on.
	Setting, Name string
	// Version is the wanted version; empty for EKS's default.
	Version string
}

// checkAddon refuses a version that is newer than the newest. Whether an older one still exists is not
// asked: the provider has no function for it.
func (c *check) checkAddon(addon Addon) error {
	if addon.Version == "" {
		return nil
	}
	newest, err := c.source.NewestAddon(addon.Name, c.request.KubernetesVersion)
	switch {
	case c.unknown.denied(fmt.Sprintf("whether %s %q exists", addon.Setting, addon.Version), err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the newest version of add-on %q: %w", addon.Name, err)
	case newest == "":
		return nil // EKS has no add-on of that Kubernetes version, so it does not support the version
	case !newer(addon.Version, newest):
		return nil
	}
	return refuse(CodeAddon, fmt.Sprintf("%s %q", addon.Setting, addon.Version),
		fmt.Sprintf("the newest version of %s for Kubernetes %s in %s is %s",
			addon.Name, c.request.KubernetesVersion, c.request.Region, newest),
		fmt.Sprintf("%s, then pulumi config set --path %s VERSION",
			addonVersions(addon.Name, c.request.KubernetesVersion, c.request.Region), addon.Setting))
}

func addonVersions(name, kubernetesVersion string, in region.Region) string {
	return fmt.Sprintf("aws eks describe-addon-versions --addon-name %s --kubernetes-version %s --region %s "+
		"--query 'addons[].addonVersions[].addonVersion'", name, kubernetesVersion, in)
}

// newer reports whether an add-on's version, such as v1.22.4-eksbuild.3, is newer than another one. It
// is false for a version of another form.
func newer(version, than string) bool {
	numbers := func(text string) (list []int) {
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.Atoi(part)
			if err != nil {
				return nil
			}
			list = append(list, n)
		}
		return list
	}
	have, limit := numbers(version), numbers(than)
	for i := 0; i < min(len(have), len(limit)); i++ {
		if have[i] != limit[i] {
			return have[i] > limit[i]
		}
	}
	return false
}
