package api

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
	// Note is a remark, such as "pending deletion until 2026-12-07".
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
