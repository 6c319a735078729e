package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Run is everything that is known about a finished job.
type Run struct {
	Expected
	// Script reports that the job ran a user's own script: each node leaves a manifest, and each
	// process that used NCCL a log (jobs/script). Otherwise each rank leaves both (jobs/train).
	Script bool
	// Again is the command that runs the job again, such as "pulumi up".
	Again string
	// Provider is the libfabric provider that the gate requires.
	Provider string
	// Status is the job's last known status; empty when the head no longer knows the job.
	Status rayapi.JobStatus
	Files  []File
	// Gaps is what could not be collected at the end, as Finish returns it; nil for nothing.
	Gaps error
	// Counters is the increase of the EFA hardware counters; nil when they could not be read, which
	// RequireEFACounters makes an error.
	Counters           *Counters
	RequireEFACounters bool
	// CountersAbsent reports that nothing could read the counters, so that their absence is no finding.
	CountersAbsent bool
}

// Counters is how much the EFA hardware counters of all worker pods increased between the moment
// before the job and the moment after it.
type Counters struct {
	TxBytes float64 `pulumi:"txBytes"`
	RxBytes float64 `pulumi:"rxBytes"`
	// Devices is the number of RDMA devices that were read.
	Devices int `pulumi:"devices"`
	// LeastBytes is the lower bound of the job's traffic in each direction; 0 when no bound is known
	// for its model.
	LeastBytes float64 `pulumi:"leastBytes"`
}

// Result is what rank 0 measured.
type Result struct {
	StepsPerSecond *float64 `json:"stepsPerSecond"`
	Steps          int      `json:"steps"`
	FinalLoss      *float64 `json:"finalLoss"`
	WorldSize      int      `json:"worldSize"`
	Strategy       string   `json:"strategy,omitempty"`
	// TokensPerSecond is that of all ranks together.
	TokensPerSecond *float64 `json:"tokensPerSecond,omitempty"`
	// MFU is the share of the device's peak that the model's operations use; nil when the peak is not
	// known.
	MFU *float64 `json:"mfu,omitempty"`
	// StepSeconds is the time of each measured step, the last 1000 at most.
	StepSeconds []float64 `json:"stepSeconds,omitempty"`
	// CheckpointSeconds is the time that saving checkpoints took among the measured steps. It is not part
	// of the speed.
	CheckpointSeconds float64 `json:"checkpointSeconds,omitempty"`
	// Split divides one step of rank 0, as torch's profiler saw it; nil without a GPU.
	Split *Split `json:"split,omitempty"`
	// ResumedAtStep is the step of the checkpoint that the last attempt continued at; 0 for none.
	ResumedAtStep int `json:"resumedAtStep,omitempty"`
	// LostSteps is the number of steps that were computed twice because of restarts.
	LostSteps int `json:"lostSteps,omitempty"`
	// SecondsToRecover is the time from the last step before a restart to the first one after it.
	SecondsToRecover *float64 `json:"secondsToRecover,omitempty"`
	// Goodput is the time that all steps take at the measured speed, as a share of the time since the
	// first attempt began.
	Goodput *float64 `json:"goodput,omitempty"`
	// AllReduce is the bandwidth of all_reduce by message size, smallest first; empty when no sweep ran.
	AllReduce []Bandwidth `json:"allReduce,omitempty"`
}

// Bandwidth is that of all_reduce with one message size.
type Bandwidth struct {
	Bytes   int     `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// BusBytesPerSecond is 2 (n - 1) / n times the size, per second, with n ranks. Source: nccl-tests'
	// doc/PERFORMANCE.md.
	BusBytesPerSecond float64 `json:"busBytesPerSecond"`
}

// Split is the time of the GPU kernels in one step, in seconds. Computation and communication
// overlap; the exposed part of the communication is what a faster network could save at most.
type Split struct {
	Compute              float64 `json:"computeSeconds"`
	Communication        float64 `json:"communicationSeconds"`
	ExposedCommunication float64 `json:"exposedCommunicationSeconds"`
}

// Judgement is the outcome for one run.
type Judgement struct {
	// Report holds the verdict, with the findings of the logs and of everything
	// around them.
	Report    report.Report
	Manifests []Manifest
	// Result is nil if rank 0 wrote none.
	Result *Result
}

// Judge judges a run. The logs decide the verdict. All other evidence can only change efa to
// inconclusive.
func Judge(ctx context.Context, run Run) (Judgement, error) {
	left := run.left()
	found := append(left.found, checkRun(run)...)
	last, earlier := left.last, left.earlier
	// A script that fails before it communicates writes no log. The findings say what is
	// missing.
	verdict := report.Report{
		Verdict:       report.Inconclusive,
		Communicators: []report.Communicator{},
		Ranks:         []report.Rank{},
		Findings:      []report.Finding{},
	}
	if len(last) > 0 {
		var err error
		verdict, err = nccl.Judge(ctx, last, nccl.Options{
			WorldSize: run.WorldSize,
			Nodes:     run.Nodes,
			Provider:  run.Provider,
			Completed: run.Status == rayapi.Succeeded,
		})
		if err != nil {
			return Judgement{}, fmt.Errorf("judging the logs of %q: %w", run.SubmissionID, err)
		}
	}
	before, err := judgeEarlier(ctx, earlier, run.Provider)
	if err != nil {
		return Judgement{}, err
	}
	found = append(found, before...)
	if run.Status == rayapi.Failed && len(last) == 0 && len(earlier) == 0 {
		// It explains every missing log, so it comes first.
		found = append([]report.Finding{failedEarly(run)}, found...)
	}

	blocked := slices.ContainsFunc(
		found,
		func(f report.Finding) bool { return f.Severity == report.Error },
	)
	if verdict.Verdict == report.EFA && blocked {
		verdict.Verdict = report.Inconclusive
	}
	if verdict.Verdict == report.EFA {
		verdict.Findings = append(verdict.Findings, found...)
	} else {
		verdict.Findings = ordered(verdict.Findings, found)
	}
	placeRanks(verdict.Ranks, run.Files)
	return Judgement{Report: verdict, Manifests: left.manifests, Result: result(run.Files)}, nil
}

// left returns what the run left, by the kind of its code.
func (r Run) left() gathered {
	if r.Script {
		return ofScript(r)
	}
	return ofRanks(r)
}

// placeRanks adds the node to each rank: that of its log.
func placeRanks(ranks []report.Rank, files []File) {
	nodes := make(map[string]string, len(files))
	for _, file := range files {
		nodes[file.Name] = file.Node
	}
	for i := range ranks {
		ranks[i].Node = nodes[ranks[i].File]
		if ranks[i].Channels == nil {
			ranks[i].Channels = map[string]int{}
		}
	}
}

// failedEarly returns the finding about a script that failed before any rank communicated.
func failedEarly(run Run) report.Finding {
	return report.Finding{
		Code:     "job-failed-early",
		Severity: report.Error,
		Text:     "job " + run.SubmissionID + " failed, and no rank left an NCCL log",
		Cause:    "the script failed before any rank communicated",
		Next:     "fix the error at the end of driver.log, next to the report, then " + run.Again,
	}
}

// ordered returns all findings by severity, errors first, in the order of the groups. Errors that say
// what the logs lack come after the others, which say why.
func ordered(groups ...[]report.Finding) []report.Finding {
	all := slices.Concat(groups...)
	slices.SortStableFunc(all, func(a, b report.Finding) int { return weight(a) - weight(b) })
	return all
}

func weight(f report.Finding) int {
	lacks := []string{finding.NodeMissing.String(), finding.RankMissing.String()}
	switch {
	case f.Severity == report.Error && !slices.Contains(lacks, f.Code):
		return 0
	case f.Severity == report.Error:
		return 1
	case f.Severity == report.Warning:
		return 2
	default:
		return 3
	}
}

// judgeEarlier returns a warning about an earlier attempt of Ray Train that did not use EFA: the last
// one decides.
func judgeEarlier(
	ctx context.Context,
	sources []nccl.Source,
	provider string,
) ([]report.Finding, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	result, err := nccl.Judge(ctx, sources, nccl.Options{Provider: provider})
	if err != nil {
		return nil, fmt.Errorf("judging the logs of earlier attempts of Ray Train: %w", err)
	}
	if result.Verdict != report.NotEFA && result.Verdict != report.Mixed {
		return nil, nil
	}
	return []report.Finding{
		{
			Code:     "earlier-try-off-efa",
			Severity: report.Warning,
			File:     sources[0].Name,
			Text: fmt.Sprintf(
				"%d logs of earlier attempts of Ray Train: %s",
				len(sources),
				result.Verdict,
			),
			Cause: "Ray Train restarted the ranks, and before that they did not use EFA",
			Next:  "raytrain verdict LOG..., with these files from the folder ranks/ next to the report",
		},
	}, nil
}

// checkRun returns findings about the job's end, the gaps and the counters.
func checkRun(run Run) []report.Finding {
	var found []report.Finding
	if run.Status == "" { // first, because it explains the gaps
		found = append(found, report.Finding{
			Code:     "ray-head-restarted",
			Severity: report.Error,
			Text:     "Ray no longer knows job " + run.SubmissionID,
			Cause: "the head restarted while the job ran, often because it ran out of memory, " +
				"so the job's result is unknown",
			Next: "kubectl -n NAMESPACE describe pod -l ray.io/node-type=head (see Last State), " +
				"then " + run.Again,
		})
	}
	if run.Gaps != nil {
		found = append(found, gap(run))
	}
	return append(found, checkCounters(run)...)
}

// gapText is the maximum length of the gaps' text in a finding: a node that does not respond adds a
// line for each of its files.
const gapText = 2000

// gap returns the finding about files that could not be read. The most serious reason decides.
func gap(run Run) report.Finding {
	gaps := run.Gaps
	found := report.Finding{
		Code: "evidence-incomplete", Severity: report.Error, Text: oneLine(gaps.Error()),
		Cause: "some files could not be read completely",
		Next:  run.Again + ", while head and workers are running",
	}
	if len(found.Text) > gapText {
		found.Text = strings.ToValidUTF8(found.Text[:gapText], "") + " ..."
	}
	switch {
	case errors.Is(gaps, ErrForeignName):
		found.Cause = "the Ray head returned an unexpected node id or file name, which was ignored"
		found.Next = "check which other program writes to that folder or serves the head's address " +
			"(kubectl get pods,services), then " + run.Again
	case errors.Is(gaps, ErrTooMuch):
		found.Cause = fmt.Sprintf(
			"the job left more than %d files or %d MiB, or one file above %d MiB; "+
				"NCCL_DEBUG=TRACE is the usual reason",
			maxFiles,
			maxBytes>>20,
			rayapi.MaxLogBytes>>20,
		)
		found.Next = "set NCCL_DEBUG=INFO in the job's environment, then " + run.Again
	case errors.Is(gaps, ErrStale):
		found.Cause = "a worker node or its files were gone after the job; " +
			"copies made while it ran may be incomplete"
		found.Next = "find the node that was removed (kubectl get nodes,pods -A -o wide) " +
			"and the reason in the status of " +
			"its instance, then " + run.Again
	}
	return found
}

// checkCounters compares the traffic of the EFA devices with the job's lower bound. Counters that
// cannot be read are a note unless they are required.
func checkCounters(run Run) []report.Finding {
	switch {
	case run.CountersAbsent:
		return nil
	case run.Counters == nil:
		found := report.Finding{
			Code:     "efa-counters-unreadable",
			Severity: report.Note,
			Text:     "no readable hw_counters in the worker pods, before and after the job",
			Cause: "/sys/class/infiniband has no EFA counters in the pods, or a pod was replaced, " +
				"so the traffic of the devices is unknown",
			Next: "kubectl exec WORKER-POD -- sh -c 'ls /sys/class/infiniband/*/ports/1/hw_counters'",
		}
		if run.RequireEFACounters {
			found.Severity = report.Error
		}
		return []report.Finding{found}
	case run.Status != rayapi.Succeeded:
		return nil // the bound is for a job that ran all its steps
	case run.Counters.TxBytes < max(1, run.Counters.LeastBytes) || run.Counters.RxBytes < max(1, run.Counters.LeastBytes):
		return []report.Finding{
			{
				Code:     "efa-counters-low",
				Severity: report.Error,
				Text: fmt.Sprintf("the EFA devices sent %.0f bytes and received %.0f; "+
					"the job's parameters and steps require %.0f each way",
					run.Counters.TxBytes, run.Counters.RxBytes, run.Counters.LeastBytes),
				Cause: "the EFA devices transferred less than the job must have sent, " +
					"so other devices carried the rest",
				Next: "raytrain verdict FOLDER, with the report's folder",
			},
		}
	default:
		return nil
	}
}

func result(files []File) *Result {
	for _, file := range files {
		if file.base() != "result.json" {
			continue
		}
		var found Result
		if file.decode(&found) == nil {
			return &found
		}
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
