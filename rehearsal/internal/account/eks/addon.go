package eks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Addon is aws:eks/addon:Addon.
type Addon struct {
	AddonName                string             `json:"addonName" aws:"required,replace"`
	AddonVersion             string             `json:"addonVersion,omitempty" aws:"default"`
	ClusterName              string             `json:"clusterName" aws:"required,replace"`
	ConfigurationValues      string             `json:"configurationValues,omitempty" aws:"default"`
	PodIdentityAssociations  []AddonPodIdentity `json:"podIdentityAssociations,omitempty"`
	Preserve                 bool               `json:"preserve,omitempty"`
	ResolveConflicts         string             `json:"resolveConflicts,omitempty"`
	ResolveConflictsOnCreate string             `json:"resolveConflictsOnCreate,omitempty"`
	ResolveConflictsOnUpdate string             `json:"resolveConflictsOnUpdate,omitempty"`
	ServiceAccountRoleARN    string             `json:"serviceAccountRoleArn,omitempty"`
	schema.Tagged

	ARN        string `json:"arn,omitempty" aws:"computed"`
	CreatedAt  string `json:"createdAt,omitempty" aws:"computed"`
	ModifiedAt string `json:"modifiedAt,omitempty" aws:"computed,volatile"`
	// Status is the add-on's state; pulumi-aws does not show it.
	Status string `json:"_status,omitempty" aws:"hidden"`
}

// AddonPodIdentity gives an add-on's service account a role.
type AddonPodIdentity struct {
	RoleARN        string `json:"roleArn" aws:"required"`
	ServiceAccount string `json:"serviceAccount" aws:"required"`
}

// Addons is the token of Addon.
const Addons store.Token[Addon] = "aws:eks/addon:Addon"

func addonType() store.Type[Addon] {
	return store.Type[Addon]{
		Service:   "EKS",
		CreateAPI: "CreateAddon", UpdateAPI: "UpdateAddon", DeleteAPI: "DeleteAddon",
		CreateSeconds: 40, // Terraform provider: usually under a minute
		UpdateSeconds: 40, // Terraform provider: usually under a minute
		DeleteSeconds: 15, // Terraform provider: seconds
		Token:         Addons,
		Parent:        Clusters.String(),
		ParentID:      func(row *Addon) string { return row.ClusterName },
		Create:        createAddon,
		Update:        func(o *store.Op, _ string, _, in *Addon) error { return checkAddon(o, in) },
		FinishCreate: func(ctx context.Context, a *store.Store, id string) error {
			return finishAddon(ctx, a, id, "create")
		},
		FinishUpdate: func(ctx context.Context, a *store.Store, id string, _ Addon) error {
			return finishAddon(ctx, a, id, "update")
		},
		FinishDelete: func(ctx context.Context, a *store.Store, id string) error {
			return finishAddonDelete(ctx, a, id)
		},
	}
}

func createAddon(o *store.Op, in *Addon) (string, error) {
	cluster, err := activeCluster(o, in.ClusterName)
	if err != nil {
		return "", err
	}
	id := in.ClusterName + ":" + in.AddonName
	if _, taken := Addons.In(o)[id]; taken {
		return "", api.Errorf("ResourceInUseException", "Addon already exists.").WithStatus(409)
	}
	if versions := addonVersions(in.AddonName, cluster.Version); len(versions) > 0 &&
		in.AddonVersion == "" {
		in.AddonVersion = versions[0]
	}
	if err := checkAddon(o, in); err != nil {
		return "", err
	}
	in.ARN = o.ARN("eks", "addon/"+in.ClusterName+"/"+in.AddonName+"/"+store.RandomHex(8))
	in.CreatedAt = o.Now.Format(time.RFC3339)
	in.ModifiedAt = in.CreatedAt
	in.Status = StatusCreating
	return id, nil
}

// checkAddon checks names, versions and options.
// Source: EKS API, CreateAddon and DescribeAddonConfiguration.
func checkAddon(o *store.Op, in *Addon) error {
	cluster, err := activeCluster(o, in.ClusterName)
	if err != nil {
		return err
	}
	versions := addonVersions(in.AddonName, cluster.Version)
	if len(versions) == 0 {
		return invalidParameter("Addon %s specified is not supported in %s kubernetes version",
			in.AddonName, cluster.Version)
	}
	if !slices.Contains(versions, in.AddonVersion) {
		return invalidParameter(
			"Addon version specified is not supported: %s of %s on Kubernetes %s; supported are %s",
			in.AddonVersion, in.AddonName, cluster.Version, strings.Join(versions, ", "))
	}
	if v := in.ResolveConflictsOnCreate; v != "" && v != "NONE" && v != "OVERWRITE" {
		return invalidParameter(
			"expected resolveConflictsOnCreate to be one of [NONE OVERWRITE], got %s", v)
	}
	if v := in.ResolveConflictsOnUpdate; v != "" && v != "NONE" && v != "OVERWRITE" &&
		v != "PRESERVE" {
		return invalidParameter(
			"expected resolveConflictsOnUpdate to be one of [NONE OVERWRITE PRESERVE], got %s", v)
	}
	for _, association := range in.PodIdentityAssociations {
		if err := checkPodRole(o, association.RoleARN); err != nil {
			return err
		}
	}
	return checkAddonConfiguration(in.AddonName, in.ConfigurationValues)
}

// addonKeys are the options that an add-on's configuration schema has.
// Source: `aws eks describe-addon-configuration` of each add-on, top level.
func addonKeys(name string) []string {
	common := []string{
		"affinity",
		"nodeSelector",
		"podAnnotations",
		"podLabels",
		"resources",
		"tolerations",
	}
	switch name {
	case "vpc-cni":
		return append(common, "enableNetworkPolicy", "enableWindowsIpam",
			"enableWindowsPrefixDelegation", "env", "eniConfig", "init",
			"livenessProbeTimeoutSeconds", "nodeAgent", "originalMatchLabels",
			"readinessProbeTimeoutSeconds", "warmWindowsENITarget")
	case "coredns":
		return append(common, "autoScaling", "computeType", "corefile", "podDisruptionBudget",
			"replicaCount", "topologySpreadConstraints")
	case "kube-proxy":
		return append(common, "ipvs", "mode")
	case "eks-pod-identity-agent":
		return append(common, "agent", "updateStrategy", "priorityClassName")
	default:
		return nil
	}
}

func checkAddonConfiguration(addon, text string) error {
	if text == "" {
		return nil
	}
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return invalidParameter(
			"ConfigurationValue provided in request is not valid JSON or YAML: %v", err)
	}
	known := addonKeys(addon)
	for key := range values {
		if known != nil && !slices.Contains(known, key) {
			sort.Strings(known)
			return invalidParameter(
				"ConfigurationValue provided in request is not supported: Json schema validation "+
					"failed with error: [$.%s: is not defined in the schema and the schema does "+
					"not "+
					"allow additional properties]; it has %s",
				key, strings.Join(known, ", "))
		}
	}
	// The schema requires text here, not a JSON boolean.
	// Source: EKS user guide, "Restrict Pod network traffic with Kubernetes network
	// policies": {"enableNetworkPolicy": "true"}.
	if v, ok := values["enableNetworkPolicy"]; ok {
		if _, isText := v.(string); !isText {
			return invalidParameter(
				"ConfigurationValue provided in request is not supported: Json schema validation " +
					"failed with error: [$.enableNetworkPolicy: boolean found, string expected]")
		}
	}
	return nil
}

// finishAddon applies an add-on and waits for its state.
func finishAddon(ctx context.Context, a *store.Store, id, verb string) error {
	var failed error
	err := a.Change(func(o *store.Op) error {
		addon := Addons.In(o)[id]
		cluster := Clusters.In(o)[addon.ClusterName]
		overwrite := addon.ResolveConflictsOnCreate == "OVERWRITE" ||
			addon.ResolveConflicts == "OVERWRITE"
		// EKS installed its own copy at creation; taking it over is a conflict.
		// Source: EKS user guide, "Create an Amazon EKS add-on", resolve conflicts.
		if verb == "create" && slices.Contains(cluster.SelfManaged, addon.AddonName) && !overwrite {
			addon.Status = StatusCreateFailed
			failed = waitError("Add-On", id, verb, StatusCreateFailed, StatusActive,
				"ConfigurationConflict",
				"ConfigurationConflict: Conflicts found when trying to apply. Will not continue "+
					"due to resolve conflicts mode. Set resolveConflictsOnCreate to OVERWRITE.")
			return nil
		}
		addon.ModifiedAt = o.Now.Format(time.RFC3339)
		cluster.SelfManaged = slices.DeleteFunc(slices.Clone(cluster.SelfManaged),
			func(name string) bool { return name == addon.AddonName })
		return nil
	})
	if err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	cluster, name, _ := strings.Cut(id, ":")
	if err := applyAddons(ctx, a, cluster); err != nil {
		return err
	}
	err = a.Change(func(o *store.Op) error {
		Addons.In(o)[id].Status = StatusActive
		// Source: EKS user guide, "Troubleshoot": CoreDNS without nodes is DEGRADED,
		// and pulumi-aws waits 20 minutes for ACTIVE.
		if name == "coredns" && !canSchedulePods(o, cluster, Addons.In(o)[id].ConfigurationValues) {
			Addons.In(o)[id].Status = statusDegraded
			failed = api.Errorf("InsufficientNumberOfReplicas",
				"waiting for EKS Add-On (%s) %s: timeout while waiting for state to become "+
					"'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s): "+
					"InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't "+
					"have "+
					"the desired number of replicas.",
				id, verb)
		}
		return nil
	})
	return cmp.Or(err, failed)
}

// canSchedulePods reports whether an ordinary pod finds a node: one that joined and whose
// group has no taint that keeps it away.
func canSchedulePods(o *store.Op, cluster, configuration string) bool {
	for _, id := range ec2.Instances.In(o).IDs() {
		found := ec2.Instances.In(o)[id]
		if found.Cluster != cluster || !found.Joined {
			continue
		}
		group, ok := NodeGroups.In(o)[cluster+":"+found.NodeGroup]
		blocked := ok &&
			slices.ContainsFunc(group.Taints,
				func(t NodeGroupTaint) bool { return t.Effect != "PREFER_NO_SCHEDULE" })
		if !blocked || strings.Contains(configuration, "tolerations") {
			return true
		}
	}
	return false
}

// finishAddonDelete removes an add-on; with preserve its software stays on the cluster.
// Source: EKS user guide, "Remove an Amazon EKS add-on".
func finishAddonDelete(ctx context.Context, a *store.Store, id string) error {
	var cluster string
	err := a.Change(func(o *store.Op) error {
		addon := Addons.In(o)[id]
		cluster = addon.ClusterName
		addon.Status = StatusDeleting
		if found, ok := Clusters.In(o)[cluster]; ok && addon.Preserve {
			found.SelfManaged = append(found.SelfManaged, addon.AddonName)
			sort.Strings(found.SelfManaged)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return applyAddons(ctx, a, cluster)
}

// applyAddons passes the add-ons of a cluster on to the runtime.
func applyAddons(ctx context.Context, a *store.Store, cluster string) error {
	defer a.Lock(cluster + "/addons")()
	if a.Runtime() == nil {
		return nil
	}
	var specs []api.AddonSpec
	running := true
	a.Look(func(o *store.Op) {
		found, ok := Clusters.In(o)[cluster]
		if !ok {
			running = false
			return
		}
		for _, id := range Addons.In(o).IDs() {
			addon := Addons.In(o)[id]
			if addon.ClusterName == cluster && addon.Status != StatusDeleting &&
				addon.Status != StatusCreateFailed {
				specs = append(
					specs,
					api.AddonSpec{
						Name:          addon.AddonName,
						Version:       addon.AddonVersion,
						Configuration: addon.ConfigurationValues,
					},
				)
			}
		}
		for _, name := range found.SelfManaged {
			specs = append(
				specs,
				api.AddonSpec{
					Name:        name,
					Version:     addonVersions(name, found.Version)[0],
					SelfManaged: true,
				},
			)
		}
	})
	if !running {
		return nil
	}
	if err := a.Runtime().AddonChanged(ctx, cluster, specs); err != nil {
		return fmt.Errorf("applying the add-ons of %q: %w", cluster, err)
	}
	return nil
}
