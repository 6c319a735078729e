package api

// Item is one resource of the account.
type Item struct {
	// Type is the Pulumi type token, or the kind of a resource that AWS created by itself.
	Type string `json:"type"`
	ID   string `json:"id"`
	// Bills reports whether the resource has an hourly cost.
	Bills bool `json:"bills"`
	// HourlyUSD is the list price per hour, or 0 if the account does not know it.
	HourlyUSD float64 `json:"hourlyUsd"`
	// BlocksName reports whether the resource reserves a name or quota that the next `up` may need.
	BlocksName bool `json:"blocksName"`
	// Note is a remark, such as "pending deletion until 2026-12-07".
	Note string `json:"note,omitempty"`
}

// Inventory lists the resources of the account.
type Inventory struct {
	Rehearsed bool   `json:"rehearsed"`
	Items     []Item `json:"items"`
}

// Remains returns the items that cost money or reserve a name, which `destroy` should have removed.
// A KMS key that is pending deletion does neither.
func (i Inventory) Remains() []Item {
	var remains []Item
	for _, item := range i.Items {
		if item.Bills || item.BlocksName {
			remains = append(remains, item)
		}
	}
	return remains
}

// HourlyUSD returns the sum of the hourly prices.
func (i Inventory) HourlyUSD() float64 {
	sum := 0.0
	for _, item := range i.Items {
		sum += item.HourlyUSD
	}
	return sum
}
