package cycle

import (
	"encoding/json"
	"fmt"
	"strings"
)

// deployment is the part of `pulumi stack export` that a rehearsal reads.
type deployment struct {
	Deployment struct {
		Resources []resourceState `json:"resources"`
	} `json:"deployment"`
}

type resourceState struct {
	URN     string          `json:"urn"`
	Type    string          `json:"type"`
	Outputs json.RawMessage `json:"outputs"`
}

// gateState is what the state keeps of the training job.
type gateState struct {
	Verdict      string `json:"verdict"`
	SubmissionID string `json:"submissionId"`
	// JobStatus is Ray's word for the job: SUCCEEDED, FAILED, STOPPED.
	JobStatus      string    `json:"jobStatus"`
	Attempt        float64   `json:"attempt"`
	ReportPath     string    `json:"reportPath"`
	StepsPerSecond *float64  `json:"stepsPerSecond"`
	HourlyUSD      *float64  `json:"hourlyUsd"`
	Findings       []Finding `json:"findings"`
	Ranks          []rankRow `json:"ranks"`
}

// rankRow is a row of the per-rank table.
type rankRow struct {
	Rank     int            `json:"rank"`
	Host     string         `json:"host"`
	Network  string         `json:"network"`
	Provider string         `json:"provider"`
	Channels map[string]int `json:"channels"`
}

// stackState is what a rehearsal knows of its stack.
type stackState struct {
	resources int
	// gate is nil when the stack has no training job.
	gate *gateState
	// cluster is the EKS cluster's name, "" when the stack has none.
	cluster string
}

const (
	trainingJobType = "raytrain:index:TrainingJob"
	clusterType     = "aws:eks/cluster:Cluster"
)

// readState reads an exported stack.
func readState(exported []byte) (stackState, error) {
	var d deployment
	if err := json.Unmarshal(exported, &d); err != nil {
		return stackState{}, fmt.Errorf("decoding the exported stack: %w", err)
	}
	state := stackState{resources: len(d.Deployment.Resources)}
	for _, resource := range d.Deployment.Resources {
		var err error
		switch resource.Type {
		case trainingJobType:
			state.gate = &gateState{}
			err = json.Unmarshal(resource.Outputs, state.gate)
		case clusterType:
			var cluster struct {
				Name string `json:"name"`
			}
			err = json.Unmarshal(resource.Outputs, &cluster)
			state.cluster = cluster.Name
		}
		if err != nil {
			return stackState{}, fmt.Errorf("decoding the state of %q: %w", resource.URN, err)
		}
	}
	return state, nil
}

// jobFailed says whether the job itself ended badly, by Ray's own status.
func (g *gateState) jobFailed() bool { return g.JobStatus == "FAILED" }

// number reads an exported number; nil when there is none.
func number(raw json.RawMessage) *float64 {
	var value float64
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return &value
}

// verdict is the stored verdict, "none" where no job was judged.
func (s stackState) verdict() string {
	if s.gate == nil || s.gate.Verdict == "" {
		return "none"
	}
	return s.gate.Verdict
}

func transports(channels map[string]int) string {
	var parts []string
	for _, name := range sortedKeys(channels) {
		parts = append(parts, fmt.Sprintf("%s %d", name, channels[name]))
	}
	if len(parts) == 0 {
		return "none of its own"
	}
	return strings.Join(parts, ", ")
}
