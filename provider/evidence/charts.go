package evidence

import (
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
)

// Charts returns the charts of a result: the time of each step, and the bandwidth of all_reduce.
// What was not measured has no chart.
func (r Result) Charts() []chart.Chart {
	var charts []chart.Chart
	if len(r.StepSeconds) > 0 {
		steps := chart.Chart{
			Title: "Time of each step", About: "Measured on rank 0, after the warm-up, without the time for checkpoints.",
			Unit: "s", Axis: "step", Line: true,
		}
		first := r.Steps - len(r.StepSeconds)
		for i, seconds := range r.StepSeconds {
			steps.Points = append(steps.Points, chart.Point{Label: strconv.Itoa(first + i + 1), Value: seconds})
		}
		charts = append(charts, steps)
	}
	if len(r.AllReduce) > 0 {
		charts = append(charts, r.Bandwidth())
	}
	return charts
}

// Bandwidth returns the chart of the bandwidth of all_reduce.
func (r Result) Bandwidth() chart.Chart {
	bandwidth := chart.Chart{
		Title: "Bus bandwidth of all_reduce", Unit: "GB/s", Axis: "message size", Line: true,
		About: "2 (n - 1) / n times the message's size, per second: what crosses the slowest link of a ring of n " +
			"ranks. A torch loop of the shape of nccl-tests' all_reduce_perf measures it.",
	}
	const giga = 1e9
	for _, one := range r.AllReduce {
		bandwidth.Points = append(bandwidth.Points,
			chart.Point{Label: size(one.Bytes), Value: one.BusBytesPerSecond / giga})
	}
	return bandwidth
}

// size returns a number of bytes that is a power of two, such as "64 KiB".
func size(bytes int) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	unit := 0
	for bytes >= 1024 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	return strconv.Itoa(bytes) + " " + units[unit]
}
