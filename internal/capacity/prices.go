package capacity

import (
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Where a price comes from.
const (
	// PriceSource and PriceDate name the table that the instance prices were read from.
	PriceSource = "Karpenter's generated table of Linux on-demand prices, us-east-1"
	// PriceDate is the day of that table.
	PriceDate = "2026-07-20"
	// ServiceSource names the pages that the prices of services were read from.
	ServiceSource = "AWS price pages, us-east-1 and us-east-2"
	// ServiceDate is the month in which they were read.
	ServiceDate = "2026-08"
)

// The hourly prices of services, in USD.
const (
	EKSClusterUSD = 0.10
	// eksExtendedUSD is what a control plane costs once its version's standard support ends.
	// Source: AWS containers blog, "Amazon EKS extended support for Kubernetes versions pricing": 0.60
	// in total.
	eksExtendedUSD = 0.60
	NATGatewayUSD  = 0.045
	PublicIPv4USD  = 0.005
	// gp3 costs 0.08 per GiB and month, and 0.04 per MiB/s of throughput above 125 MiB/s; AWS bills 730
	// hours per month.
	gp3GiBUSD          = 0.08 / 730
	gp3ThroughputUSD   = 0.04 / 730
	includedThroughput = 125
	// natGBUSD is the price of a GB through the NAT gateway.
	natGBUSD = 0.045
	// imageGB is what a node downloads for the image of Ray, about.
	imageGB = 15
)

// oldAfter is the age at which a price is called old.
const oldAfter = 180 * 24 * time.Hour

// dated returns a source with its date, and says when it is old. A zero today does not.
func dated(source, date string, today time.Time) string {
	text := source + ", " + date
	for _, form := range []string{time.DateOnly, "2006-01"} {
		if read, err := time.Parse(form, date); err == nil && today.Sub(read) > oldAfter {
			return text + ", old: check it and set prices"
		}
	}
	return text
}

// pricedRegions returns the regions in which the table is valid. us-east-2 and us-west-2 normally
// have the prices of us-east-1 for these types; the estimate says that it assumes so.
func pricedRegions() []region.Region {
	return []region.Region{"us-east-1", "us-east-2", "us-west-2"}
}

// InstancePrices returns USD per hour by instance type, Linux on demand.
func InstancePrices() map[string]float64 {
	return map[string]float64{
		"g4dn.xlarge": 0.526, "g4dn.8xlarge": 2.176, "g4dn.12xlarge": 3.912,
		"g5.xlarge": 1.006, "g5.8xlarge": 2.448, "g5.12xlarge": 5.672, "g5.48xlarge": 16.288,
		"g6.xlarge": 0.8048, "g6.2xlarge": 0.9776, "g6.4xlarge": 1.3232, "g6.8xlarge": 2.0144,
		"g6.16xlarge": 3.3968, "g6.12xlarge": 4.6016, "g6.24xlarge": 6.6752,
		"g6.48xlarge": 13.3504,
		"g6e.8xlarge": 4.52856, "g6e.12xlarge": 10.49264, "g6e.24xlarge": 15.06559,
		"g6e.48xlarge": 30.13118,
		"m6i.large":    0.096, "m6i.xlarge": 0.192, "m6i.2xlarge": 0.384,
		"m7i.large": 0.1008, "m7i.xlarge": 0.2016, "m7i.2xlarge": 0.4032, "m7i.4xlarge": 0.8064,
		"m7i.8xlarge":   1.6128,
		"p4d.24xlarge":  21.9576,
		"p4de.24xlarge": 27.4471,
		"p5.4xlarge":    6.88, "p5.48xlarge": 55.04,
		"p5en.48xlarge":    63.296,
		"p6-b200.48xlarge": 113.9328,
		"p6-b300.48xlarge": 142.416,
		"t3.medium":        0.0416,
	}
}
