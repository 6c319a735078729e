package account

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// Authentication modes. Source: EKS API, AccessConfig.
const (
	modeConfigMap = "CONFIG_MAP"
	modeBoth      = "API_AND_CONFIG_MAP"
	modeAPI       = "API"
)

// updateCluster checks what may change in place.
func (o *op) updateCluster(id string, old, in *resource.Cluster) error {
	if old.Status != statusActive {
		return api.Errorf("ResourceInUseException", "Cannot update because cluster %s currently has status %s.", id, old.Status).WithStatus(409)
	}
	if in.Version != old.Version {
		return invalidParameter("Unsupported Kubernetes minor version update from %s to %s (a rehearsal does not upgrade control planes)", old.Version, in.Version)
	}
	vpcID, err := o.checkCluster(in)
	if err != nil {
		return err
	}
	if vpcID != old.VpcConfig.VpcID {
		return invalidParameter("Provided subnets belong to a different VPC than the cluster's.")
	}
	// Source: EKS user guide, "Change authentication mode": one way only.
	order := []string{modeConfigMap, modeBoth, modeAPI}
	from, to := old.AccessConfig.AuthenticationMode, in.AccessConfig.AuthenticationMode
	if slices.Index(order, to) < slices.Index(order, from) {
		return invalidParameter("Unsupported authentication mode update from %s to %s", from, to)
	}
	o.writeLogs()
	return nil
}

// removeCluster refuses while node groups exist.
// Source: EKS API, DeleteCluster, error ResourceInUseException.
func (o *op) removeCluster(id string, gone *resource.Cluster) error {
	for _, groupID := range o.NodeGroups.sorted() {
		if o.NodeGroups[groupID].ClusterName == id {
			return api.Errorf("ResourceInUseException", "Cluster has nodegroups attached (rehearsal: %s)", groupID).WithStatus(409)
		}
	}
	gone.Status = statusDeleting
	return nil
}

// afterCluster takes away what EKS made for a cluster. Its log group is not among that.
func (o *op) afterCluster(id string) {
	for _, interfaceID := range o.Interfaces.sorted() {
		if o.Interfaces[interfaceID].Owner == "eks:"+id {
			delete(o.Interfaces, interfaceID)
		}
	}
	for _, groupID := range o.SecurityGroups.sorted() {
		if o.SecurityGroups[groupID].MadeBy == "eks:"+id {
			o.dropRulesOf(groupID)
			delete(o.SecurityGroups, groupID)
		}
	}
	dropWhere(o.Addons, func(row *resource.Addon) bool { return row.ClusterName == id })
	dropWhere(o.AccessEntries, func(row *resource.AccessEntry) bool { return row.ClusterName == id })
	dropWhere(o.AccessAssociations, func(row *resource.AccessPolicyAssociation) bool { return row.ClusterName == id })
	dropWhere(o.PodIdentities, func(row *resource.PodIdentityAssociation) bool { return row.ClusterName == id })
}

func dropWhere[T any](rows table[T], is func(*T) bool) {
	for _, id := range rows.sorted() {
		if is(rows[id]) {
			delete(rows, id)
		}
	}
}

// cluster returns an active cluster or EKS's error.
func (o *op) cluster(name string) (*resource.Cluster, error) {
	found, ok := o.Clusters[name]
	if !ok {
		return nil, api.Errorf("ResourceNotFoundException", "No cluster found for name: %s.", name).WithStatus(404)
	}
	if found.Status != statusActive {
		return nil, api.Errorf("InvalidRequestException", "Cluster '%s' is not in ACTIVE status (it is %s)", name, found.Status)
	}
	return found, nil
}

// settleCluster starts the control plane and opens it.
func (a *Account) settleCluster(ctx context.Context, name string) error {
	if err := a.startCluster(ctx, name); err != nil {
		saveErr := a.change(func(o *op) error {
			o.Clusters[name].Status = statusFailed
			return nil
		})
		return waitingFor("Cluster", name, "create", statusFailed, statusActive, "InternalFailure", fmt.Sprint(err, errText(saveErr)))
	}
	err := a.change(func(o *op) error {
		found := o.Clusters[name]
		found.Status = statusActive
		o.openToCreator(found)
		o.writeLogs()
		return nil
	})
	if err != nil {
		return err
	}
	return a.applyAddons(ctx, name)
}

// startCluster has the runtime start a control plane and keeps where it answers.
func (a *Account) startCluster(ctx context.Context, name string) error {
	defer a.busy.lock(name + "/control-plane")()
	var spec ClusterSpec
	a.look(func(o *op) {
		found := o.Clusters[name]
		spec = ClusterSpec{
			Name: name, ARN: found.ARN, Version: found.Version,
			ServiceCIDR: found.KubernetesNetworkConfig.ServiceIpv4Cidr,
			VPCID:       found.VpcConfig.VpcID, VPCCIDR: o.Vpcs[found.VpcConfig.VpcID].CidrBlock,
			Issuer: found.Identities[0].Oidcs[0].Issuer,
		}
	})
	// Without a runtime the address has EKS's form and nothing listens there.
	endpoints := ClusterEndpoints{
		Endpoint: "https://" + spec.Issuer[strings.LastIndex(spec.Issuer, "/")+1:] + ".gr7." + a.options.Region + ".eks.amazonaws.com",
		CAData:   base64.StdEncoding.EncodeToString([]byte("rehearsed certificate authority\n")),
	}
	if a.options.Runtime != nil {
		started, err := a.options.Runtime.ClusterCreated(ctx, spec)
		if err != nil {
			return fmt.Errorf("starting the control plane of %q: %w", name, err)
		}
		endpoints = started
	}
	return a.change(func(o *op) error {
		found := o.Clusters[name]
		found.Endpoint = endpoints.Endpoint
		found.CertificateAuthority = &resource.CertificateAuthority{Data: endpoints.CAData}
		found.CertificateAuthorities = []resource.CertificateAuthority{*found.CertificateAuthority}
		return nil
	})
}

// waitingFor words a failure as the provider's waiters do.
// Source: pulumi-aws errors of eks.NodeGroup and eks.Addon.
func waitingFor(what, name, verb, is, wanted, code, cause string) *api.Error {
	return api.Errorf(code, "waiting for EKS %s (%s) %s: unexpected state '%s', wanted target '%s'. last error: %s", what, name, verb, is, wanted, cause)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return "; " + err.Error()
}
