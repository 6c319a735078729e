package account

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func addonRules(kind resource.Kind) rules[resource.Addon] {
	return rules[resource.Addon]{
		kind: kind, service: "EKS",
		createVerb: "CreateAddon", updateVerb: "UpdateAddon", deleteVerb: "DeleteAddon",
		rows:   func(s *state) table[resource.Addon] { return s.Addons },
		create: (*op).createAddon,
		update: func(o *op, _ string, _, in *resource.Addon) error { return o.checkAddon(in) },
		settleCreate: func(ctx context.Context, a *Account, id string) error {
			return a.settleAddon(ctx, id, "create")
		},
		settleUpdate: func(ctx context.Context, a *Account, id string, _ resource.Addon) error {
			return a.settleAddon(ctx, id, "update")
		},
		settleRemove: func(ctx context.Context, a *Account, id string) error { return a.dropAddon(ctx, id) },
	}
}

func (o *op) createAddon(in *resource.Addon) (string, error) {
	cluster, err := o.cluster(in.ClusterName)
	if err != nil {
		return "", err
	}
	id := in.ClusterName + ":" + in.AddonName
	if _, taken := o.Addons[id]; taken {
		return "", api.Errorf("ResourceInUseException", "Addon already exists.").WithStatus(409)
	}
	if versions := addonVersions(in.AddonName, cluster.Version); len(versions) > 0 && in.AddonVersion == "" {
		in.AddonVersion = versions[0]
	}
	if err := o.checkAddon(in); err != nil {
		return "", err
	}
	in.ARN = o.arn("eks", "addon/"+in.ClusterName+"/"+in.AddonName+"/"+randomHex(8))
	in.CreatedAt = o.now.Format(time.RFC3339)
	in.ModifiedAt = in.CreatedAt
	in.Status = statusCreating
	return id, nil
}

// checkAddon checks names, versions and options.
// Source: EKS API, CreateAddon and DescribeAddonConfiguration.
func (o *op) checkAddon(in *resource.Addon) error {
	cluster, err := o.cluster(in.ClusterName)
	if err != nil {
		return err
	}
	versions := addonVersions(in.AddonName, cluster.Version)
	if len(versions) == 0 {
		return invalidParameter("Addon %s specified is not supported in %s kubernetes version", in.AddonName, cluster.Version)
	}
	if !slices.Contains(versions, in.AddonVersion) {
		return invalidParameter("Addon version specified is not supported: %s of %s on Kubernetes %s; supported are %s", in.AddonVersion, in.AddonName, cluster.Version, strings.Join(versions, ", "))
	}
	if v := in.ResolveConflictsOnCreate; v != "" && v != "NONE" && v != "OVERWRITE" {
		return invalidParameter("expected resolveConflictsOnCreate to be one of [NONE OVERWRITE], got %s", v)
	}
	if v := in.ResolveConflictsOnUpdate; v != "" && v != "NONE" && v != "OVERWRITE" && v != "PRESERVE" {
		return invalidParameter("expected resolveConflictsOnUpdate to be one of [NONE OVERWRITE PRESERVE], got %s", v)
	}
	for _, association := range in.PodIdentityAssociations {
		if err := o.checkPodRole(association.RoleARN); err != nil {
			return err
		}
	}
	return checkAddonConfiguration(in.AddonName, in.ConfigurationValues)
}

// addonKeys are the options that an add-on's configuration schema has.
// Source: `aws eks describe-addon-configuration` of each add-on, top level.
func addonKeys(name string) []string {
	common := []string{"affinity", "nodeSelector", "podAnnotations", "podLabels", "resources", "tolerations"}
	switch name {
	case "vpc-cni":
		return append(common, "enableNetworkPolicy", "enableWindowsIpam", "enableWindowsPrefixDelegation", "env", "eniConfig", "init", "livenessProbeTimeoutSeconds", "nodeAgent", "originalMatchLabels", "readinessProbeTimeoutSeconds", "warmWindowsENITarget")
	case "coredns":
		return append(common, "autoScaling", "computeType", "corefile", "podDisruptionBudget", "replicaCount", "topologySpreadConstraints")
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
		return invalidParameter("ConfigurationValue provided in request is not valid JSON or YAML: %v", err)
	}
	known := addonKeys(addon)
	for key := range values {
		if known != nil && !slices.Contains(known, key) {
			sort.Strings(known)
			return invalidParameter("ConfigurationValue provided in request is not supported: Json schema validation failed with error: [$.%s: is not defined in the schema and the schema does not allow additional properties]; it has %s", key, strings.Join(known, ", "))
		}
	}
	// The schema wants text here, not a JSON boolean.
	// Source: EKS user guide, "Restrict Pod network traffic with Kubernetes network
	// policies": {"enableNetworkPolicy": "true"}.
	if v, ok := values["enableNetworkPolicy"]; ok {
		if _, isText := v.(string); !isText {
			return invalidParameter("ConfigurationValue provided in request is not supported: Json schema validation failed with error: [$.enableNetworkPolicy: boolean found, string expected]")
		}
	}
	return nil
}

// settleAddon applies an add-on and waits for its state.
func (a *Account) settleAddon(ctx context.Context, id, verb string) error {
	var failed error
	err := a.change(func(o *op) error {
		addon := o.Addons[id]
		cluster := o.Clusters[addon.ClusterName]
		overwrite := addon.ResolveConflictsOnCreate == "OVERWRITE" || addon.ResolveConflicts == "OVERWRITE"
		// EKS installed its own copy at creation; taking it over is a conflict.
		// Source: EKS user guide, "Create an Amazon EKS add-on", resolve conflicts.
		if verb == "create" && slices.Contains(cluster.SelfManaged, addon.AddonName) && !overwrite {
			addon.Status = statusCreateFailed
			failed = waitingFor("Add-On", id, verb, statusCreateFailed, statusActive, "ConfigurationConflict",
				"ConfigurationConflict: Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Set resolveConflictsOnCreate to OVERWRITE.")
			return nil
		}
		addon.ModifiedAt = o.now.Format(time.RFC3339)
		cluster.SelfManaged = slices.DeleteFunc(slices.Clone(cluster.SelfManaged), func(name string) bool { return name == addon.AddonName })
		return nil
	})
	if err != nil || failed != nil {
		return firstError(err, failed)
	}
	cluster, name, _ := strings.Cut(id, ":")
	if err := a.applyAddons(ctx, cluster); err != nil {
		return err
	}
	err = a.change(func(o *op) error {
		o.Addons[id].Status = statusActive
		// Source: EKS user guide, "Troubleshoot": CoreDNS without nodes is DEGRADED,
		// and pulumi-aws waits 20 minutes for ACTIVE.
		if name == "coredns" && !o.hasRoomForPods(cluster, o.Addons[id].ConfigurationValues) {
			o.Addons[id].Status = statusDegraded
			failed = api.Errorf("InsufficientNumberOfReplicas", "waiting for EKS Add-On (%s) %s: timeout while waiting for state to become 'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s): InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't have the desired number of replicas.", id, verb)
		}
		return nil
	})
	return firstError(err, failed)
}

// hasRoomForPods says whether an ordinary pod finds a node: one that joined and whose
// group has no taint that keeps it away.
func (o *op) hasRoomForPods(cluster, configuration string) bool {
	for _, id := range o.Instances.sorted() {
		found := o.Instances[id]
		if found.Cluster != cluster || !found.Joined {
			continue
		}
		group, ok := o.NodeGroups[cluster+":"+found.NodeGroup]
		blocked := ok && slices.ContainsFunc(group.Taints, func(t resource.NodeGroupTaint) bool { return t.Effect != "PREFER_NO_SCHEDULE" })
		if !blocked || strings.Contains(configuration, "tolerations") {
			return true
		}
	}
	return false
}

// dropAddon removes an add-on; with preserve its software stays on the cluster.
// Source: EKS user guide, "Remove an Amazon EKS add-on".
func (a *Account) dropAddon(ctx context.Context, id string) error {
	var cluster string
	err := a.change(func(o *op) error {
		addon := o.Addons[id]
		cluster = addon.ClusterName
		addon.Status = statusDeleting
		if found, ok := o.Clusters[cluster]; ok && addon.Preserve {
			found.SelfManaged = append(found.SelfManaged, addon.AddonName)
			sort.Strings(found.SelfManaged)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.applyAddons(ctx, cluster)
}

// applyAddons tells the runtime what a cluster runs.
func (a *Account) applyAddons(ctx context.Context, cluster string) error {
	defer a.busy.lock(cluster + "/addons")()
	if a.options.Runtime == nil {
		return nil
	}
	var specs []AddonSpec
	running := true
	a.look(func(o *op) {
		found, ok := o.Clusters[cluster]
		if !ok {
			running = false
			return
		}
		for _, id := range o.Addons.sorted() {
			addon := o.Addons[id]
			if addon.ClusterName == cluster && addon.Status != statusDeleting && addon.Status != statusCreateFailed {
				specs = append(specs, AddonSpec{Name: addon.AddonName, Version: addon.AddonVersion, Configuration: addon.ConfigurationValues})
			}
		}
		for _, name := range found.SelfManaged {
			specs = append(specs, AddonSpec{Name: name, Version: addonVersions(name, found.Version)[0], SelfManaged: true})
		}
	})
	if !running {
		return nil
	}
	if err := a.options.Runtime.AddonChanged(ctx, cluster, specs); err != nil {
		return fmt.Errorf("applying the add-ons of %q: %w", cluster, err)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
