package eks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Authentication modes. Source: EKS API, AccessConfig.
const (
	modeConfigMap = "CONFIG_MAP"
	modeBoth      = "API_AND_CONFIG_MAP"
	modeAPI       = "API"
)

// updateCluster checks what may change in place.
func updateCluster(o *store.Op, id string, old, in *Cluster) error {
	if old.Status != StatusActive {
		return api.Errorf("ResourceInUseException",
			"Cannot update because cluster %s currently has status %s.", id, old.Status).WithStatus(
			409,
		)
	}
	if in.Version != old.Version {
		return invalidParameter(
			"Unsupported Kubernetes minor version update from %s to %s (a rehearsal does not "+
				"upgrade control planes)",
			old.Version, in.Version)
	}
	vpcID, err := checkCluster(o, in)
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
	writeLogs(o, id, in)
	return nil
}

// deleteCluster returns an error while node groups exist.
// Source: EKS API, DeleteCluster, error ResourceInUseException.
func deleteCluster(o *store.Op, id string, gone *Cluster) error {
	for _, groupID := range NodeGroups.In(o).IDs() {
		if NodeGroups.In(o)[groupID].ClusterName == id {
			return api.Errorf("ResourceInUseException",
				"Cluster has nodegroups attached (rehearsal: %s)", groupID).WithStatus(
				409,
			)
		}
	}
	gone.Status = StatusDeleting
	return nil
}

// clusterDeleted drops the resources that EKS created for a cluster, except its log group.
func clusterDeleted(o *store.Op, id string) {
	store.DropWhere(o, ec2.Interfaces,
		func(row *ec2.NetworkInterface) bool { return row.Owner == "eks:"+id })
	store.DropWhere(o, ec2.SecurityGroups,
		func(row *ec2.SecurityGroup) bool { return row.MadeBy == "eks:"+id })
}

// activeCluster returns an active cluster or EKS's error.
func activeCluster(o *store.Op, name string) (*Cluster, error) {
	found, ok := Clusters.In(o)[name]
	if !ok {
		return nil, api.Errorf("ResourceNotFoundException", "No cluster found for name: %s.",
			name).WithStatus(
			404,
		)
	}
	if found.Status != StatusActive {
		return nil, api.Errorf("InvalidRequestException",
			"Cluster '%s' is not in ACTIVE status (it is %s)", name, found.Status)
	}
	return found, nil
}

// finishCluster starts the control plane and makes the cluster active.
func finishCluster(ctx context.Context, a *store.Store, name string) error {
	if err := startCluster(ctx, a, name); err != nil {
		saveErr := a.Change(func(o *store.Op) error {
			Clusters.In(o)[name].Status = statusFailed
			return nil
		})
		return waitError("Cluster", name, "create", statusFailed, StatusActive, "InternalFailure",
			errors.Join(err, saveErr).Error())
	}
	err := a.Change(func(o *store.Op) error {
		found := Clusters.In(o)[name]
		found.Status = StatusActive
		grantCreatorAccess(o, found)
		writeLogs(o, name, found)
		return nil
	})
	if err != nil {
		return err
	}
	return applyAddons(ctx, a, name)
}

// startCluster starts a control plane and stores its endpoint.
func startCluster(ctx context.Context, a *store.Store, name string) error {
	defer a.Lock(name + "/control-plane")()
	var spec api.ClusterSpec
	var region string
	a.Look(func(o *store.Op) {
		region = o.Region
		found := Clusters.In(o)[name]
		spec = api.ClusterSpec{
			Name: name, ARN: found.ARN, Version: found.Version,
			ServiceCIDR: found.KubernetesNetworkConfig.ServiceIpv4Cidr,
			VPCID:       found.VpcConfig.VpcID,
			VPCCIDR:     ec2.Vpcs.In(o)[found.VpcConfig.VpcID].CidrBlock,
			Issuer:      found.Identities[0].Oidcs[0].Issuer,
		}
	})
	// Without a runtime the address has EKS's form and nothing listens there.
	endpoints := api.ClusterEndpoints{
		Endpoint: "https://" + spec.Issuer[strings.LastIndex(spec.Issuer, "/")+1:] + ".gr7." + region + ".eks.amazonaws.com",
		CAData:   base64.StdEncoding.EncodeToString([]byte("rehearsed certificate authority\n")),
	}
	if a.Runtime() != nil {
		started, err := a.Runtime().ClusterCreated(ctx, spec)
		if err != nil {
			return fmt.Errorf("starting the control plane of %q: %w", name, err)
		}
		endpoints = started
	}
	return a.Change(func(o *store.Op) error {
		found := Clusters.In(o)[name]
		found.Endpoint = endpoints.Endpoint
		found.CertificateAuthority = &CertificateAuthority{Data: endpoints.CAData}
		found.CertificateAuthorities = []CertificateAuthority{*found.CertificateAuthority}
		return nil
	})
}

// waitError returns an error in the form of the provider's waiters.
// Source: pulumi-aws errors of eks.NodeGroup and eks.Addon.
func waitError(what, name, verb, is, wanted, code, cause string) error {
	return api.Errorf(code,
		"waiting for EKS %s (%s) %s: unexpected state '%s', wanted target '%s'. last error: %s",
		what, name, verb, is, wanted, cause)
}
