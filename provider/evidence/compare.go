package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Comparison is how a second run differs from a first one.
type Comparison struct {
	// Values are verdict, network, speed and cost of both runs, also those that are equal.
	Values []Change
	// Appeared are the findings that only the second run has, Gone those that only the first has. A
	// finding is known by its code; proofs are left out.
	Appeared, Gone []report.Finding
	// Worse reports that the first run is efa and the second is not, or that a finding of severity
	// error appeared. Speed and cost do not count: they vary from run to run.
	Worse bool
}

// Change is one value of both runs. Unknown is a value.
type Change struct {
	Name          string
	Before, After string
	// Percent is the relative change of a number, such as "+3.1 %"; empty when there is none.
	Percent string
}

// unknown is what a run does not show.
const unknown = "unknown"

// errNotARun is wrapped when a file is no report.json of a run.
var errNotARun = errors.New("it is no report.json of a run")

// ReadBundle reads a report.json that Archive wrote.
func ReadBundle(path string) (Bundle, report.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Bundle{}, report.Report{}, fmt.Errorf("reading a report: %w", err)
	}
	var bundle Bundle
	var judged report.Report
	if err = json.Unmarshal(text, &bundle); err == nil {
		switch {
		case bundle.SubmissionID == "" || len(bundle.Report) == 0:
			err = errNotARun
		default:
			err = json.Unmarshal(bundle.Report, &judged)
		}
	}
	if err == nil && judged.Verdict == "" {
		err = errNotARun
	}
	if err != nil {
		return Bundle{}, report.Report{}, fmt.Errorf(
			"reading the report %q: %w; next: give the report.json of raytrain submit, of drill or of a stack", path, err)
	}
	return bundle, judged, nil
}

// Compare compares two report.json files of runs.
func Compare(before, after string) (Comparison, error) {
	a, reportA, errA := ReadBundle(before)
	b, reportB, errB := ReadBundle(after)
	if err := errors.Join(errA, errB); err != nil {
		return Comparison{}, err
	}
	c := Comparison{
		Values: []Change{
			{Name: "verdict", Before: string(reportA.Verdict), After: string(reportB.Verdict)},
			{Name: "job", Before: status(a), After: status(b)},
			{Name: "ranks seen", Before: count(reportA.RanksSeen), After: count(reportB.RanksSeen)},
			{Name: "network", Before: network(reportA), After: network(reportB)},
			number("steps/s", 2, measured(a).StepsPerSecond, measured(b).StepsPerSecond),
			number("tokens/s", 0, measured(a).TokensPerSecond, measured(b).TokensPerSecond),
			number("MFU", 3, measured(a).MFU, measured(b).MFU),
			number("seconds of the job", 1, jobSeconds(a), jobSeconds(b)),
			number("cost in USD", 2, cost(a), cost(b)),
		},
		Appeared: without(reportB.Findings, reportA.Findings),
		Gone:     without(reportA.Findings, reportB.Findings),
	}
	isError := func(f report.Finding) bool { return f.Severity == report.Error }
	c.Worse = reportA.Verdict == report.EFA && reportB.Verdict != report.EFA ||
		slices.ContainsFunc(c.Appeared, isError)
	return c, nil
}

// without returns the findings whose code is not among others, one for each code.
func without(list, others []report.Finding) []report.Finding {
	var left []report.Finding
	for _, f := range list {
		same := func(g report.Finding) bool { return g.Code == f.Code }
		if !f.IsProof() && !slices.ContainsFunc(others, same) && !slices.ContainsFunc(left, same) {
			left = append(left, f)
		}
	}
	return left
}

func status(b Bundle) string {
	if b.Job.Status == "" {
		return unknown
	}
	return string(b.Job.Status)
}

func count(n *int) string {
	if n == nil {
		return unknown
	}
	return strconv.Itoa(*n)
}

// network names every network that a rank used.
func network(r report.Report) string {
	var names []string
	for _, rank := range r.Ranks {
		name := strings.TrimSpace(rank.Network + " " + rank.Provider)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return unknown
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func measured(b Bundle) Result {
	if b.Result == nil {
		return Result{}
	}
	return *b.Result
}

// jobSeconds is nil for a job that did not start or did not end.
func jobSeconds(b Bundle) *float64 {
	const millisecondsOfSecond = 1000
	if b.Job.StartTime <= 0 || b.Job.EndTime < b.Job.StartTime {
		return nil
	}
	seconds := float64(b.Job.EndTime-b.Job.StartTime) / millisecondsOfSecond
	return &seconds
}

// cost is the price of the stack for the time of the job; nil when either is unknown.
func cost(b Bundle) *float64 {
	const secondsOfHour = 3600
	seconds := jobSeconds(b)
	if seconds == nil || b.HourlyUSD <= 0 {
		return nil
	}
	dollars := b.HourlyUSD * *seconds / secondsOfHour
	return &dollars
}

func number(name string, digits int, before, after *float64) Change {
	show := func(value *float64) string {
		if value == nil {
			return unknown
		}
		return strconv.FormatFloat(*value, 'f', digits, 64)
	}
	change := Change{Name: name, Before: show(before), After: show(after)}
	if before != nil && after != nil && *before > 0 {
		const percent = 100
		change.Percent = fmt.Sprintf("%+.1f %%", percent*(*after / *before - 1))
	}
	return change
}
