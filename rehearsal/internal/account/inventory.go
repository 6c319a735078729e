package account

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// Item is one thing that exists in the account.
type Item struct {
	// Type is the Pulumi type token, or the kind of thing that AWS made by itself.
	Type string `json:"type"`
	ID   string `json:"id"`
	// Bills is true when the thing costs money for every hour that it exists.
	Bills bool `json:"bills"`
	// HourlyUSD is the list price per hour where the account knows it, else 0.
	HourlyUSD float64 `json:"hourlyUsd"`
	// BlocksName is true when the thing holds a name or a quota that the next `up` may want.
	BlocksName bool `json:"blocksName"`
	// Note says what is special, such as "pending deletion until 2026-12-07".
	Note string `json:"note,omitempty"`
}

// Inventory is everything that exists in the account.
type Inventory struct {
	Rehearsed bool   `json:"rehearsed"`
	Items     []Item `json:"items"`
}

// Remains returns the items that bill or block a name: what `destroy` should have
// removed. A KMS key that is pending deletion does neither.
func (i Inventory) Remains() []Item {
	var remains []Item
	for _, item := range i.Items {
		if item.Bills || item.BlocksName {
			remains = append(remains, item)
		}
	}
	return remains
}

// HourlyUSD sums the prices of what exists.
func (i Inventory) HourlyUSD() float64 {
	sum := 0.0
	for _, item := range i.Items {
		sum += item.HourlyUSD
	}
	return sum
}

// Hourly prices of us-east-1 in dollars.
// Sources: EKS pricing (standard support); VPC pricing: NAT gateway, public IPv4 address,
// interface endpoint per zone. KMS and log storage bill by the month and by the GB.
const (
	priceCluster  = 0.10
	priceNAT      = 0.045
	priceAddress  = 0.005
	priceEndpoint = 0.01
	priceKey      = 1.0 / 730
)

// Inventory lists what exists, in the order of type and id.
func (a *Account) Inventory() Inventory {
	inventory := Inventory{Rehearsed: true, Items: []Item{}}
	a.look(func(o *op) {
		inventory.Items = append(inventory.Items, o.billing()...)
		inventory.Items = append(inventory.Items, o.free()...)
	})
	slices.SortStableFunc(inventory.Items, func(x, y Item) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.ID, y.ID))
	})
	return inventory
}

// billing lists what has an hourly price.
func (o *op) billing() []Item {
	items := list(o.Clusters, resource.TokenCluster, func(*resource.Cluster) Item { return bills(priceCluster, "") })
	items = append(items, list(o.Instances, "ec2 instance", func(row *instance) Item {
		t, _ := typeNamed(row.Type)
		return bills(t.HourlyUSD, row.Type+" of node group "+row.NodeGroup)
	})...)
	items = append(items, list(o.NatGateways, resource.TokenNatGateway, func(*resource.NatGateway) Item { return bills(priceNAT, "") })...)
	items = append(items, list(o.Eips, resource.TokenEip, func(*resource.Eip) Item { return bills(priceAddress, "") })...)
	items = append(items, list(o.VpcEndpoints, resource.TokenVpcEndpoint, func(row *resource.VpcEndpoint) Item {
		if row.VpcEndpointType == "Gateway" {
			return Item{BlocksName: true}
		}
		return bills(priceEndpoint*float64(len(row.NetworkInterfaceIDs)), row.ServiceName)
	})...)
	items = append(items, list(o.CapacityReservations, resource.TokenCapacityReservation, func(row *resource.CapacityReservation) Item {
		t, _ := typeNamed(row.InstanceType)
		// Instances that use the reservation are priced above.
		return bills(t.HourlyUSD*float64(o.freeIn(row.InstanceType, row.AvailabilityZone)), "bills at the On-Demand rate even when idle")
	})...)
	items = append(items, list(o.Keys, resource.TokenKey, func(row *resource.Key) Item {
		if row.PendingUntil != "" {
			return Item{Note: "pending deletion until " + row.PendingUntil + ", not billing"}
		}
		return bills(priceKey, "1 $ a month")
	})...)
	return items
}

// free lists what costs nothing by the hour and holds a name, an id or a quota.
func (o *op) free() []Item {
	var items []Item
	items = append(items, holds(o.Vpcs, resource.TokenVpc)...)
	items = append(items, holds(o.Subnets, resource.TokenSubnet)...)
	items = append(items, holds(o.InternetGateways, resource.TokenInternetGateway)...)
	items = append(items, list(o.RouteTables, resource.TokenRouteTable, func(row *resource.RouteTable) Item { return Item{BlocksName: !row.Main} })...)
	items = append(items, list(o.SecurityGroups, resource.TokenSecurityGroup, func(row *resource.SecurityGroup) Item {
		return Item{BlocksName: row.MadeBy != "vpc", Note: row.Name}
	})...)
	items = append(items, holds(o.LaunchTemplates, resource.TokenLaunchTemplate)...)
	items = append(items, holds(o.PlacementGroups, resource.TokenPlacementGroup)...)
	items = append(items, holds(o.Roles, resource.TokenRole)...)
	items = append(items, holds(o.Policies, resource.TokenIAMPolicy)...)
	items = append(items, holds(o.OIDCProviders, resource.TokenOpenIDConnectProvider)...)
	items = append(items, holds(o.NodeGroups, resource.TokenNodeGroup)...)
	items = append(items, holds(o.Aliases, resource.TokenAlias)...)
	items = append(items, list(o.LogGroups, resource.TokenLogGroup, func(row *resource.LogGroup) Item {
		if row.MadeBy != "" {
			return Item{BlocksName: true, Note: "made by the control plane of " + row.MadeBy}
		}
		return Item{BlocksName: true}
	})...)
	items = append(items, holds(o.Buckets, resource.TokenBucket)...)
	return append(items, list(o.Interfaces, "ec2 network interface", func(row *networkInterface) Item { return Item{Note: "of " + row.Owner} })...)
}

func bills(price float64, note string) Item {
	return Item{Bills: true, BlocksName: true, HourlyUSD: price, Note: note}
}

func holds[T any](rows table[T], kind string) []Item {
	return list(rows, kind, func(*T) Item { return Item{BlocksName: true} })
}

func list[T any](rows table[T], kind string, describe func(*T) Item) []Item {
	var items []Item
	for _, id := range rows.sorted() {
		item := describe(rows[id])
		item.Type, item.ID = kind, id
		items = append(items, item)
	}
	return items
}
