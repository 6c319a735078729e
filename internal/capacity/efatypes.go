package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// EFATypes returns the instance types with NVIDIA GPUs and EFA, ordered by name. The program asks
// EC2 about the type that it uses; the list serves suggestions and tests.
//
// Sources: EFA interfaces from Karpenter's generated list of instance types (2026-08); vCPUs, memory
// and GPUs from EC2's product pages (2026-11). p6-b300 has one more network card than EFA
// interfaces: its first card has no EFA.
func EFATypes() []InstanceType {
	return []InstanceType{
		{"g4dn.12xlarge", 48, 196608, 4, 1, 1},
		{"g4dn.16xlarge", 64, 262144, 1, 1, 1},
		{"g4dn.8xlarge", 32, 131072, 1, 1, 1},
		{"g5.12xlarge", 48, 196608, 4, 1, 1},
		{"g5.16xlarge", 64, 262144, 1, 1, 1},
		{"g5.24xlarge", 96, 393216, 4, 1, 1},
		{"g5.48xlarge", 192, 786432, 8, 1, 1},
		{"g5.8xlarge", 32, 131072, 1, 1, 1},
		{"g6.12xlarge", 48, 196608, 4, 1, 1},
		{"g6.16xlarge", 64, 262144, 1, 1, 1},
		{"g6.24xlarge", 96, 393216, 4, 1, 1},
		{"g6.48xlarge", 192, 786432, 8, 1, 1},
		{"g6.8xlarge", 32, 131072, 1, 1, 1},
		{"g6e.12xlarge", 48, 393216, 4, 1, 1},
		{"g6e.16xlarge", 64, 524288, 1, 1, 1},
		{"g6e.24xlarge", 96, 786432, 4, 2, 2},
		{"g6e.48xlarge", 192, 1572864, 8, 4, 4},
		{"g6e.8xlarge", 32, 262144, 1, 1, 1},
		{"g7e.12xlarge", 48, 524288, 2, 1, 1},
		{"g7e.24xlarge", 96, 1048576, 4, 2, 2},
		{"g7e.48xlarge", 192, 2097152, 8, 4, 4},
		{"g7e.8xlarge", 32, 262144, 1, 1, 1},
		{"p4d.24xlarge", 96, 1179648, 8, 4, 4},
		{"p4de.24xlarge", 96, 1179648, 8, 4, 4},
		{"p5.48xlarge", 192, 2097152, 8, 32, 32},
		{"p5.4xlarge", 16, 262144, 1, 1, 1},
		{"p5e.48xlarge", 192, 2097152, 8, 32, 32},
		{"p5en.48xlarge", 192, 2097152, 8, 16, 16},
		{"p6-b200.48xlarge", 192, 2097152, 8, 8, 8},
		{"p6-b300.48xlarge", 192, 4194304, 8, 16, 17},
	}
}

// suggestions is how many types nearest returns at most.
const suggestions = 3

// nearest returns the types with EFA that are most like a type without it: those of its family,
// then those with as many GPUs, the cheapest first. A type without a known price comes last.
func nearest(to InstanceType) []string {
	prices := InstancePrices()
	family, _, _ := strings.Cut(to.Name, ".")
	types := EFATypes()
	distance := func(t InstanceType) int {
		switch {
		case strings.HasPrefix(t.Name, family+"."):
			return 0
		case t.GPUs == to.GPUs:
			return 1
		}
		return 2
	}
	price := func(t InstanceType) float64 {
		if usd, known := prices[t.Name]; known {
			return usd
		}
		return 1e9
	}
	slices.SortStableFunc(types, func(a, b InstanceType) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(price(a), price(b)))
	})
	var texts []string
	for _, t := range types[:suggestions] {
		cost := "price unknown"
		if usd, known := prices[t.Name]; known {
			cost = fmt.Sprintf("$%.2f an hour", usd)
		}
		texts = append(texts, fmt.Sprintf("%s (GPUs: %d, %s)", t.Name, t.GPUs, cost))
	}
	return texts
}
