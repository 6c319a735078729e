package ec2

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/internal/capacity"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Eip is aws:ec2/eip:Eip.
type Eip struct {
	Domain string `json:"domain,omitempty" aws:"default,replace"`
	// Vpc is the older way to say Domain.
	Vpc bool `json:"vpc,omitempty" aws:"replace"`
	schema.Tagged

	AllocationID  string `json:"allocationId,omitempty" aws:"computed"`
	ARN           string `json:"arn,omitempty" aws:"computed"`
	AssociationID string `json:"associationId,omitempty" aws:"computed"`
	PublicIP      string `json:"publicIp,omitempty" aws:"computed"`
	PublicDNS     string `json:"publicDns,omitempty" aws:"computed"`
}

// Eips is the token of Eip.
const Eips store.Token[Eip] = "aws:ec2/eip:Eip"

func eipType() store.Type[Eip] {
	return store.Type[Eip]{
		Service:   "EC2",
		CreateAPI: "AllocateAddress", UpdateAPI: "CreateTags", DeleteAPI: "ReleaseAddress",
		Token: Eips,
		Item:  func(*store.Op, *Eip) api.Item { return store.Bills(capacity.PublicIPv4USD, "") },
		Create: func(o *store.Op, in *Eip) (string, error) {
			// Source: EC2 API error codes, AddressLimitExceeded; quota L-0263D0A3.
			if float64(len(Eips.In(o))) >= AppliedQuota(o, QuotaElasticIPs) {
				return "", api.Errorf("AddressLimitExceeded",
					"The maximum number of addresses has been reached.")
			}
			id := store.NewID("eipalloc")
			in.Domain, in.AllocationID = "vpc", id
			in.ARN = o.ARN("ec2", "elastic-ip/"+id)
			// 203.0.113.0/24 is reserved for documentation (RFC 5737).
			in.PublicIP = fmt.Sprintf("203.0.113.%d", freeHost(o))
			in.PublicDNS = "ec2-" + store.Dashed(
				in.PublicIP) + "." + o.Region + ".compute.amazonaws.com"
			return id, nil
		},
		Delete: func(_ *store.Op, id string, gone *Eip) error {
			// Source: EC2 API error codes, InvalidIPAddress.InUse.
			if gone.AssociationID != "" {
				return api.Errorf("InvalidIPAddress.InUse",
					"The specified IP address is already in use. If you are trying to release an "+
						"address, you must first disassociate it from the instance. (rehearsal: "+
						"%s "+
						"is associated as %s)",
					id, gone.AssociationID)
			}
			return nil
		},
	}
}

// freeHost returns the lowest last byte that no elastic address has.
func freeHost(o *store.Op) int {
	used := map[string]bool{}
	for _, eip := range Eips.In(o) {
		used[eip.PublicIP] = true
	}
	host := 10
	for used[fmt.Sprintf("203.0.113.%d", host)] {
		host++
	}
	return host
}
