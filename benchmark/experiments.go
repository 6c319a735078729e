package benchmark

import (
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Experiment is a question and the runs of the built-in training that answer it.
type Experiment struct {
	Name  string
	About string

	arms     func(Options) []arm
	conclude func(Options, []Run) conclusion
}

// arm is one run of an experiment.
type arm struct {
	name string
	// want is the verdict that the run must have.
	want  report.Verdict
	nodes int
	// network is added to the environment.
	network map[string]string
	// change adapts the training's configuration; nil for not at all.
	change func(*train.Config)
}

// conclusion is what the runs of an experiment show together.
type conclusion struct {
	sentence string
	figures  []Figure
	chart    chart.Chart
}

// efa pins NCCL to aws-ofi-nccl over EFA, as the stack does.
func efa() map[string]string {
	return map[string]string{"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_NET": "Libfabric"}
}

// tcp makes NCCL use TCP sockets.
func tcp() map[string]string {
	return map[string]string{"NCCL_NET_PLUGIN": "none", "NCCL_NET": "Socket"}
}

// Experiments returns all experiments, in the order of help texts.
func Experiments() []Experiment {
	return []Experiment{
		{
			Name:  "efa-vs-tcp",
			About: "The same training over EFA and over TCP. The gate must refuse the TCP run.",
			arms: func(o Options) []arm {
				return []arm{
					{name: "EFA", want: report.EFA, nodes: o.Nodes, network: efa()},
					{name: "TCP", want: report.NotEFA, nodes: o.Nodes, network: tcp()},
				}
			},
			conclude: compareNetworks,
		},
		{
			Name:  "scaling",
			About: "The same training on one node, without traffic between nodes, and on all nodes over EFA.",
			arms: func(o Options) []arm {
				return []arm{
					// Nothing leaves the node, so no line can prove EFA.
					{name: "1 node", want: report.Inconclusive, nodes: 1, network: efa()},
					{name: fmt.Sprintf("%d nodes", o.Nodes), want: report.EFA, nodes: o.Nodes, network: efa()},
				}
			},
			conclude: scale,
		},
		{
			Name:  "allreduce",
			About: "all_reduce over all GPUs by message size, against the line rate of a node.",
			arms: func(o Options) []arm {
				return []arm{{name: "EFA", want: report.EFA, nodes: o.Nodes, network: efa(),
					change: func(c *train.Config) { c.Steps, c.AllReduceMebibytes = 2, o.LargestMebibytes }}}
			},
			conclude: sweep,
		},
		{
			Name:  "recovery",
			About: "A rank is killed in the middle of a run; all ranks continue at the last checkpoint.",
			arms: func(o Options) []arm {
				return []arm{{name: "a rank killed", want: report.EFA, nodes: o.Nodes, network: efa(),
					change: func(c *train.Config) {
						c.CheckpointEvery, c.KillAtStep, c.MaxFailures = max(1, c.Steps/4), c.Steps/2+1, 1
					}}}
			},
			conclude: recovery,
		},
	}
}

func compareNetworks(_ Options, runs []Run) conclusion {
	onEFA, onTCP := runs[0].measured(), runs[1].measured()
	ratio := divide(onEFA.StepsPerSecond, onTCP.StepsPerSecond)
	return conclusion{
		sentence: fmt.Sprintf("EFA is %s times as fast as TCP, and the gate refuses the TCP run.", show(ratio)),
		figures:  []Figure{{"speed of EFA as a multiple of TCP", ratio, ""}},
		chart: chart.Chart{
			Title: "Speed of the training", About: "Optimizer steps per second, after the warm-up.", Unit: "steps/s",
			Points: bars(runs, func(r Run) *float64 { return r.measured().StepsPerSecond }),
		},
	}
}

func scale(_ Options, runs []Run) conclusion {
	one, all := runs[0].measured().TokensPerSecond, runs[1].measured().TokensPerSecond
	drawn := chart.Chart{
		Title: "Throughput", About: "Tokens per second of all ranks together. The batch of a rank is the same.",
		Unit: "tokens/s", Points: bars(runs, func(r Run) *float64 { return r.measured().TokensPerSecond }),
	}
	var efficiency *float64
	if one != nil && *one > 0 {
		ideal := *one * float64(runs[1].Nodes)
		drawn.Limit = &chart.Point{Label: "without loss", Value: ideal}
		efficiency = percent(divide(all, &ideal))
	}
	return conclusion{
		sentence: fmt.Sprintf("%d nodes reach %s %% of %d times the throughput of one node.",
			runs[1].Nodes, show(efficiency), runs[1].Nodes),
		figures: []Figure{{"scaling efficiency", efficiency, "%"}}, chart: drawn,
	}
}

const bitsOfByte = 8

func sweep(o Options, runs []Run) conclusion {
	drawn := runs[0].measured().Bandwidth()
	var best, share *float64
	for _, p := range drawn.Points {
		if best == nil || p.Value > *best {
			best = &p.Value
		}
	}
	if o.LineRateGbps > 0 {
		rate := o.LineRateGbps / bitsOfByte
		drawn.Limit = &chart.Point{Label: "line rate", Value: rate}
		share = percent(divide(best, &rate))
	}
	return conclusion{
		sentence: fmt.Sprintf("all_reduce reaches %s GB/s, %s %% of the line rate of a node.", show(best), show(share)),
		figures:  []Figure{{"highest bus bandwidth", best, "GB/s"}, {"share of the line rate", share, "%"}},
		chart:    drawn,
	}
}

func recovery(_ Options, runs []Run) conclusion {
	result := runs[0].measured()
	lost := float64(result.LostSteps)
	steps := float64(result.Steps)
	drawn := chart.Chart{
		Title: "Time of a failure", Unit: "s",
		About: "Time of all steps at the measured speed, and from the last step before the failure to the first one after.",
	}
	if all := divide(&steps, result.StepsPerSecond); all != nil && result.SecondsToRecover != nil {
		drawn.Points = []chart.Point{{Label: "all steps", Value: *all}, {Label: "recovery", Value: *result.SecondsToRecover}}
	}
	return conclusion{
		sentence: fmt.Sprintf("After a rank was killed, the run continued %s s later at step %d and lost %d steps.",
			show(result.SecondsToRecover), result.ResumedAtStep, result.LostSteps),
		figures: []Figure{
			{"time to recover", result.SecondsToRecover, "s"}, {"lost steps", &lost, "steps"},
			{"goodput", percent(result.Goodput), "%"},
		},
		chart: drawn,
	}
}

func bars(runs []Run, value func(Run) *float64) []chart.Point {
	var points []chart.Point
	for _, run := range runs {
		if v := value(run); v != nil {
			points = append(points, chart.Point{Label: run.Arm, Value: *v})
		}
	}
	return points
}

// divide returns nil where a value is unknown or the divisor is 0.
func divide(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	ratio := *a / *b
	return &ratio
}

func percent(share *float64) *float64 {
	hundredth := 0.01
	return divide(share, &hundredth)
}

func show(value *float64) string {
	if value == nil {
		return unknown
	}
	return chart.Number(*value)
}
