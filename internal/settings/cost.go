package settings

import "time"

// Cost limits and prices the stack.
type Cost struct {
	// MaxHourlyUSD is the hourly price above which preview and up refuse.
	MaxHourlyUSD float64
	// Prices replaces or adds prices per instance type, in USD per hour.
	Prices map[string]float64
	// TTLHours is how long the GPU nodes run after an update; 0 means until destroy.
	TTLHours int
}

// LeaseEnd returns when the GPU nodes of an update at a time end, in UTC; the zero time means never. It is a
// full hour, so that a second update soon after the first one changes nothing.
func (c Cost) LeaseEnd(now time.Time) time.Time {
	if c.TTLHours == 0 {
		return time.Time{}
	}
	return now.UTC().Add(time.Duration(c.TTLHours) * time.Hour).Truncate(time.Hour).Add(time.Hour)
}

func costFields() []Field {
	return []Field{
		{
			Key: "maxHourlyUsd", Type: String, Default: "12.00",
			Description: "Maximum price per hour in USD. preview and up fail above it.",
			Allowed:     "a maximum price in USD per hour",
			set:         setMaxHourlyUSD,
		},
		{
			Key: "prices", Type: Object, Default: "{}", Example: "4.6016",
			Description: "Prices in USD per hour by instance type, for types and regions that are not in the " +
				"built-in table (pulumi config set --path --type float 'prices[\"TYPE\"]' USD).",
			Allowed: "a map of instance type to USD per hour",
			Member:  `prices["g6.12xlarge"]`, MemberType: "float", set: setPrices,
		},
		{
			Key: "ttlHours", Type: Integer, Default: "0",
			Description: "Hours after a `pulumi up` until AWS scales the GPU nodes to zero, whether or not " +
				"Pulumi runs again, at the next full hour. Each `pulumi up` extends it; 0 means never. " +
				"A reservation of the stack (gpu.capacity reserve) costs as much without nodes.",
			Allowed: "0 to 720",
			set:     between(0, 720, func(s *Settings) *int { return &s.TTLHours }),
		},
	}
}
