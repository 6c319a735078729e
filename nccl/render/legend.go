package render

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// missing is the traffic of a rank without evidence. Only tables and pictures have such ranks.
const missing report.Traffic = "missing"

// legend explains a color of the pictures.
type legend struct {
	Traffic     report.Traffic
	Name, About string
}

// legends returns the colors, worst first.
func legends() []legend {
	return []legend{
		{report.TrafficOther, "not EFA", "between nodes, on sockets, tcp, InfiniBand or another network"},
		{missing, "no evidence", "a rank for which no line was found"},
		{report.TrafficUnknown, "unknown", "between nodes, but no line shows the provider"},
		{report.TrafficEFA, "EFA", "between nodes, on the libfabric provider efa"},
		{report.TrafficLocal, "inside the node", "P2P or shared memory"},
		{report.TrafficNone, "no connection", "in evidence, without connections"},
	}
}

// bad reports whether traffic needs a look.
func bad(t report.Traffic) bool {
	return t == report.TrafficOther || t == report.TrafficUnknown || t == missing
}
