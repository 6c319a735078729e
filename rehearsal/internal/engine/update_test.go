package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const stackURN = "urn:pulumi:rehearsal::ray-train-efa::pulumi:pulumi:Stack::ray-train-efa-rehearsal"

func urn(kind, name string) string {
	return "urn:pulumi:rehearsal::ray-train-efa::" + kind + "::" + name
}

func meta(op apitype.OpType, kind, name, parent string) apitype.StepEventMetadata {
	return apitype.StepEventMetadata{
		Op: op, URN: urn(kind, name), Type: kind,
		New: &apitype.StepEventStateMetadata{Parent: parent},
	}
}

func pre(m apitype.StepEventMetadata) apitype.EngineEvent {
	return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: m}}
}

func outputs(m apitype.StepEventMetadata) apitype.EngineEvent {
	return apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: m}}
}

func failed(m apitype.StepEventMetadata) apitype.EngineEvent {
	return apitype.EngineEvent{ResOpFailedEvent: &apitype.ResOpFailedEvent{Metadata: m}}
}

func diagnostic(severity, message string) apitype.EngineEvent {
	return apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Severity: severity,
		Message: message}}
}

// fill applies the events a second apart.
func fill(t *testing.T, events ...apitype.EngineEvent) *recorder {
	t.Helper()
	start := time.Unix(1000, 0)
	r := newRecorder("up", start)
	for i, event := range events {
		r.apply(event, start.Add(time.Duration(i+1)*time.Second))
	}
	return r
}

func TestUpdateFollowsStepsToTheirEnd(t *testing.T) {
	t.Parallel()
	vpc := meta(apitype.OpCreate, "aws:ec2/vpc:Vpc", "vpc", stackURN)
	gate := meta(apitype.OpCreate, "raytrain:index:TrainingJob", "gate", stackURN)
	u := fill(t, pre(vpc), pre(gate), outputs(vpc), failed(gate), outputs(gate),
		pre(meta(apitype.OpSame, "aws:ec2/subnet:Subnet", "quiet",
			stackURN))).finish(time.Unix(1010, 0), errors.New("exit status 1"))

	steps := u.Steps
	require.Len(t, steps, 2, "same and read steps are bookkeeping")
	assert.Equal(t, Done, steps[0].State)
	assert.Equal(t, 2*time.Second, steps[0].End.Sub(steps[0].Start))
	assert.Equal(t, Failed, steps[1].State,
		"outputs after a failure are partial state, not success")
	first, ok := u.Failed()
	require.True(t, ok)
	assert.Equal(t, "gate", first.Name)
	assert.InDelta(t, 10, u.Seconds(), 0.001)
}

func TestUnfinishedStepsEndWithTheUpdate(t *testing.T) {
	t.Parallel()
	step := pre(meta(apitype.OpCreate, "aws:eks/cluster:Cluster", "eks", stackURN))
	killed := fill(t, step).finish(time.Unix(1005, 0), errors.New("killed"))
	assert.Equal(t, Unfinished, killed.Steps[0].State)
	_, ok := killed.Failed()
	assert.False(t, ok, "a step that was cut short is not the one that failed")

	ended := fill(t, step).finish(time.Unix(1005, 0), nil)
	assert.Equal(t, Done, ended.Steps[0].State)
}

func TestDiagnosticsAreSortedAndCleaned(t *testing.T) {
	t.Parallel()
	u := fill(t,
		diagnostic("error", "\x1b[31m1 error occurred:\n\t* not-efa\x1b[0m\n"),
		diagnostic("warning", "using pulumi-resource-aws from $PATH at bin"),
		diagnostic("error", "update failed"),
		diagnostic("warning", "a real warning"),
		diagnostic("info", "hourly $9.55"),
		diagnostic("warning", "a real warning"),
		apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Severity: "info",
			Message: "waiting", Ephemeral: true}},
	).finish(time.Unix(1010, 0), nil)
	assert.Equal(t, []string{"not-efa"}, u.Errors)
	assert.Equal(t, []string{"a real warning"}, u.Warnings)
	assert.Equal(t, []string{"hourly $9.55"}, u.Info)
}

// The Automation API's own error is "exit status 255", then code, standard output and standard
// error.
func TestAnErrorIsWhatTheEnginePrinted(t *testing.T) {
	t.Parallel()
	wrapped := errors.New("failed to run update: exit status 255\ncode: 255\nstdout: Updating...\nstderr: error: no stack\n")
	err := plain(wrapped)
	require.EqualError(t, err, "no stack")
	require.ErrorIs(t, err, wrapped)
	require.EqualError(t, plain(errors.New("context canceled")), "context canceled")
	require.NoError(t, plain(nil))
	assert.Equal(t, []string{"no stack"}, fill(t).finish(time.Unix(1010, 0), err).Errors,
		"an update without a diagnostic shows it")
}

func TestChangesLeaveOutWhatStaysTheSame(t *testing.T) {
	t.Parallel()
	u := fill(t, apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{
		ResourceChanges: map[apitype.OpType]int{apitype.OpSame: 60, apitype.OpUpdate: 1},
	}}).finish(time.Unix(1010, 0), nil)
	assert.Equal(t, map[apitype.OpType]int{apitype.OpUpdate: 1}, u.Changes)
}

func TestTreePutsChildrenBelowTheirParents(t *testing.T) {
	t.Parallel()
	network := meta(apitype.OpCreate, "raytrain:infra:Network", "network", stackURN)
	gate := meta(apitype.OpCreate, "raytrain:index:TrainingJob", "gate", stackURN)
	vpc := meta(apitype.OpCreate, "aws:ec2/vpc:Vpc", "vpc",
		urn("raytrain:infra:Network", "network"))
	u := fill(t, pre(network), pre(gate), pre(vpc), outputs(vpc), failed(gate))
	assert.Equal(t, []string{
		"  … raytrain:infra:Network  network  6.0s",
		"    + aws:ec2:Vpc  vpc  1.0s",
		"  ✗ raytrain:index:TrainingJob  gate  3.0s",
	}, treeLines(u.current(), time.Unix(1007, 0)))
}

func TestTimelineHoldsEachStepAndSaysThatItIsRehearsed(t *testing.T) {
	t.Parallel()
	vpc := meta(apitype.OpCreate, "aws:ec2/vpc:Vpc", "vpc", stackURN)
	u := fill(t, pre(vpc), outputs(vpc)).finish(time.Unix(1003, 0), nil)
	var out bytes.Buffer
	require.NoError(t, WriteTimeline(&out, []*Update{u}))
	var got trace
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.True(t, got.Other.Rehearsed)
	require.Len(t, got.Events, 2)
	assert.Equal(t, "vpc", got.Events[1].Name)
	assert.Equal(t, time.Second.Microseconds(), got.Events[1].Micros)
	assert.Equal(t, time.Second.Microseconds(), got.Events[1].Duration)
}
