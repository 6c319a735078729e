package evidence

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Watch judges the evidence of a job while it runs. It takes the logs that Judge takes, of the
// newest attempt of Ray Train. It is not safe for concurrent use.
type Watch struct {
	run     Run
	monitor *nccl.Monitor
	// try is the attempt of Ray Train whose logs the monitor has.
	try int
	// added is how much of each log the monitor has, in bytes.
	added map[fileKey]int64
}

// Glimpse is what the evidence of a running job shows so far.
type Glimpse struct {
	// Ranks is the number of the WorldSize ranks that left evidence.
	Ranks, WorldSize int
	// Bytes is the size of all files.
	Bytes int64
	// Verdict is the verdict on the lines so far.
	Verdict report.Verdict
	// Lost reports whether the run can no longer become efa, because a channel between nodes is not
	// on EFA. A run without evidence, or without a connection, is not lost.
	Lost bool
	// Telling is the finding that explains a lost run; nil if the run is not lost.
	Telling *report.Finding
	// Progress is what the job reported; nil if it reported nothing.
	Progress *Progress
}

// Step returns the last step that the job reported; 0 for none.
func (g Glimpse) Step() int {
	if g.Progress == nil {
		return 0
	}
	return g.Progress.Step
}

// Progress is what rank 0 reports while the job trains; jobs/train/CONTRACT.md is the contract.
type Progress struct {
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Loss and StepsPerSecond are nil where the job does not know them.
	Loss           *float64 `json:"loss"`
	StepsPerSecond *float64 `json:"stepsPerSecond"`
}

// String returns the progress for people.
func (p Progress) String() string {
	text := fmt.Sprintf("step %d of %d", p.Step, p.Steps)
	if p.Loss != nil {
		text += fmt.Sprintf(", loss %.4f", *p.Loss)
	}
	if p.StepsPerSecond != nil {
		text += fmt.Sprintf(", %.2f steps/s", *p.StepsPerSecond)
	}
	return text
}

// NewWatch returns a Watch for one run, whose files are not known yet.
func NewWatch(run Run) *Watch {
	w := &Watch{run: run}
	w.reset(0)
	return w
}

func (w *Watch) reset(try int) {
	w.try, w.added = try, map[fileKey]int64{}
	w.monitor = nccl.NewMonitor(nccl.Options{
		WorldSize: w.run.WorldSize, Nodes: w.run.Nodes, Provider: w.run.Provider,
	})
}

// Look judges the newest copies of the job's files, which may be incomplete.
func (w *Watch) Look(files []File) Glimpse {
	run := w.run
	run.Files = files
	left := run.left()
	if len(left.manifests) > 0 && left.manifests[0].TrainAttempt > w.try {
		w.reset(left.manifests[0].TrainAttempt)
	}
	judged := map[string]bool{}
	for _, source := range left.last {
		judged[source.Name] = true
	}
	for i := range files {
		if judged[files[i].Name] && files[i].Size < w.added[files[i].key()] {
			w.reset(w.try) // another file took its place
			break
		}
	}
	seen := Glimpse{Ranks: len(left.manifests), WorldSize: w.run.WorldSize, Progress: FindProgress(files)}
	for i := range files {
		seen.Bytes += files[i].Size
		if judged[files[i].Name] {
			w.add(files[i])
		}
	}
	status := w.monitor.Status()
	seen.Verdict, seen.Lost = status.Report.Verdict, !status.CanBecomeEFA
	if status.Report.RanksSeen != nil {
		seen.Ranks = max(seen.Ranks, *status.Report.RanksSeen)
	}
	if seen.Lost {
		seen.Telling = telling(status.Report.Findings)
	}
	return seen
}

// add gives the monitor what was added to a log. A copy that cannot be read adds nothing, and proves
// nothing.
func (w *Watch) add(file File) {
	copied, err := os.Open(file.Path)
	if err != nil {
		return
	}
	defer copied.Close()
	added := w.added[file.key()]
	n, _ := w.monitor.AddFrom( //nolint:errcheck // the rest is added next time
		file.Name, io.NewSectionReader(copied, added, file.Size-added))
	w.added[file.key()] = added + n
}

// telling returns the first error that rests on a line.
func telling(findings []report.Finding) *report.Finding {
	i := slices.IndexFunc(findings, func(f report.Finding) bool { return f.Severity == report.Error && f.Line > 0 })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// ProgressFile is the name of the file with the job's Progress.
const ProgressFile = "progress.json"

// FindProgress returns what the newest copy of ProgressFile says; nil without one.
func FindProgress(files []File) *Progress {
	for i := range files {
		var found Progress
		if files[i].base() == ProgressFile && files[i].decode(&found) == nil {
			return &found
		}
	}
	return nil
}
