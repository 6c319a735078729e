package rehearsal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// State is the part of a stack's state that a rehearsal reads.
type State struct {
	// Exported is the whole state, as `pulumi stack export` prints it.
	Exported []byte
	// Resources counts the stack's resources.
	Resources int
	// Job is nil when the stack has no training job.
	Job *Job
	// Cluster is the EKS cluster's name, "" when the stack has none.
	Cluster string
}

// Job is the part of the training job's state that a rehearsal reads.
type Job struct {
	Verdict string `json:"verdict"`
	// JobStatus is Ray's status of the job: SUCCEEDED, FAILED, STOPPED.
	JobStatus string `json:"jobStatus"`
	// Attempt is the highest known attempt number, SubmissionID the id of its job; "" when there is
	// none.
	Attempt        int              `json:"attempt"`
	SubmissionID   string           `json:"submissionId"`
	ReportPath     string           `json:"reportPath"`
	StepsPerSecond *float64         `json:"stepsPerSecond"`
	Findings       []report.Finding `json:"findings"`
	Ranks          []report.Rank    `json:"ranks"`
}

// VerdictNone is the verdict of a stack in which no job was judged.
const VerdictNone = "none"

// TrainingJobType is the type of the gate's resource.
const TrainingJobType = "raytrain:index:TrainingJob"

const clusterType = "aws:eks/cluster:Cluster"

// readState decodes an exported stack.
func readState(exported []byte) (State, error) {
	var stack struct {
		Deployment struct {
			Resources []struct {
				URN     string          `json:"urn"`
				Type    string          `json:"type"`
				Outputs json.RawMessage `json:"outputs"`
			} `json:"resources"`
		} `json:"deployment"`
	}
	if err := json.Unmarshal(exported, &stack); err != nil {
		return State{}, fmt.Errorf("decoding the exported stack: %w", err)
	}
	state := State{Exported: exported, Resources: len(stack.Deployment.Resources)}
	for _, resource := range stack.Deployment.Resources {
		var err error
		switch resource.Type {
		case TrainingJobType:
			state.Job = &Job{}
			err = json.Unmarshal(resource.Outputs, state.Job)
		case clusterType:
			var cluster struct {
				Name string `json:"name"`
			}
			err = json.Unmarshal(resource.Outputs, &cluster)
			state.Cluster = cluster.Name
		}
		if err != nil {
			return State{}, fmt.Errorf("decoding the state of %q: %w", resource.URN, err)
		}
	}
	return state, nil
}

// JobFailed reports whether the job failed according to Ray's status.
func (s State) JobFailed() bool { return s.Job != nil && s.Job.JobStatus == "FAILED" }

// Verdict returns the stored verdict, or VerdictNone if no job was judged.
func (s State) Verdict() string {
	if s.Job == nil || s.Job.Verdict == "" {
		return VerdictNone
	}
	return s.Job.Verdict
}

// transports formats the count of channels by transport.
func transports(channels map[string]int) string {
	var parts []string
	for _, name := range sortedKeys(channels) {
		parts = append(parts, fmt.Sprintf("%s %d", name, channels[name]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
