package settings

// Cost limits and prices the stack.
type Cost struct {
	// MaxHourlyUSD is the hourly price above which preview and up refuse.
	MaxHourlyUSD float64
	// Prices replaces or adds prices per instance type, in USD per hour.
	Prices map[string]float64
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
	}
}
