package evidence

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// writePages writes report.html and report.md: the verdict, and what is known about the run.
func writePages(root *os.Root, bundle Bundle, result report.Report) error {
	result.Rehearsed = result.Rehearsed || bundle.Rehearsed
	options := render.Options{Run: facts(bundle)}
	if bundle.Result != nil {
		options.Charts = bundle.Result.Charts()
	}
	for name, write := range map[string]func(io.Writer, report.Report, render.Options) error{
		"report.html": render.HTML, "report.md": render.Markdown,
	} {
		var text bytes.Buffer
		if err := write(&text, result, options); err != nil {
			return err
		}
		if err := root.WriteFile(name, text.Bytes(), fileMode); err != nil {
			return err
		}
	}
	return nil
}

// facts returns what is known about a run beside its logs. What is not known has no fact, except for
// the cost.
func facts(b Bundle) []render.Fact {
	var list []render.Fact
	add := func(name, value string) {
		if value != "" {
			list = append(list, render.Fact{Name: name, Value: value})
		}
	}
	number := func(name string, value *float64, unit string) {
		if value != nil {
			add(name, chart.Number(*value)+unit)
		}
	}
	add("job", b.SubmissionID+" "+string(b.Job.Status))
	if b.ProofHash != "" {
		add("attempt", fmt.Sprintf("%d, proof %.12s", b.Attempt, b.ProofHash))
	}
	result := measured(b)
	number("speed", result.StepsPerSecond, " steps/s")
	number("throughput", result.TokensPerSecond, " tokens/s")
	number("MFU", result.MFU, "")
	if result.Split != nil {
		number("communication", &result.Split.Communication, " s of a step")
		number("exposed communication", &result.Split.ExposedCommunication, " s of a step")
	}
	number("goodput", result.Goodput, "")
	if result.SecondsToRecover != nil {
		add("restart", fmt.Sprintf("at step %d after %s s; lost steps: %d",
			result.ResumedAtStep, chart.Number(*result.SecondsToRecover), result.LostSteps))
	}
	number("time of the job", jobSeconds(b), " s")
	add("cost of the job", costText(b))
	if b.Counters != nil {
		add("EFA counters", fmt.Sprintf("sent %.0f bytes, received %.0f bytes", b.Counters.TxBytes, b.Counters.RxBytes))
	}
	add("NCCL", versions(b.Manifests, func(m Manifest) string {
		if m.NCCLVersion == nil {
			return ""
		}
		return *m.NCCLVersion
	}))
	add("torch", versions(b.Manifests, func(m Manifest) string { return m.TorchVersion }))
	add("image", b.Image)
	for _, name := range slices.Sorted(maps.Keys(b.Environment)) {
		add(name, b.Environment[name])
	}
	return list
}

// costText returns the price of the stack for the time of the job.
func costText(b Bundle) string {
	dollars := cost(b)
	if dollars == nil {
		return unknown
	}
	text := fmt.Sprintf("$%.2f at $%.2f an hour for the stack", *dollars, b.HourlyUSD)
	if b.Rehearsed {
		text = "nothing in a rehearsal; on AWS " + text
	}
	return text
}

// versions returns the different versions of all ranks.
func versions(manifests []Manifest, of func(Manifest) string) string {
	var list []string
	for _, m := range manifests {
		if version := of(m); version != "" && !slices.Contains(list, version) {
			list = append(list, version)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
