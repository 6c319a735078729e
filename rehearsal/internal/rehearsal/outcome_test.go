package rehearsal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// noCapacity is a refusal as the program reports it.
func noCapacity() *refusal.Refusal {
	return &refusal.Refusal{
		Code: "no-capacity", Summary: "failed: could not create aws:eks:NodeGroup \"gpu\"",
		Cause: "AWS has no instances left", Next: "pulumi up later", Billing: "$9.55 per hour",
	}
}

// outcomeOf returns the outcome of a step during which the program appended events and the engine
// printed errors.
func outcomeOf(t *testing.T, events []eventlog.Event, messages ...string) *Outcome {
	t.Helper()
	dir := t.TempDir()
	for _, event := range events {
		require.NoError(t, eventlog.To(eventsFile(dir)).Append(event))
	}
	outcome, err := newOutcome(dir, &engine.Update{Title: "up", Errors: messages})
	require.NoError(t, err)
	return outcome
}

func TestARefusalIsReadAsData(t *testing.T) {
	t.Parallel()
	price := 9.55
	refused := noCapacity()
	outcome := outcomeOf(t, []eventlog.Event{{HourlyUSD: &price}, {Refusal: refused}},
		refused.Error(), "creating EKS Node Group: InsufficientInstanceCapacity", stack.ErrReported.Error())
	assert.Equal(t, &price, outcome.HourlyUSD)
	assert.Equal(t, []report.Finding{{
		Code: "no-capacity", Severity: report.Error, Text: refused.Error(), Cause: refused.Cause, Next: refused.Next,
	}}, outcome.Findings())

	marked := *refused
	marked.Summary = "[rehearsed] " + refused.Summary
	marked.Billing = "nothing in a rehearsal; on AWS: $9.55 per hour"
	assert.Equal(t, []string{
		marked.Error(), "[rehearsed] creating EKS Node Group: InsufficientInstanceCapacity",
	}, outcome.messages(), "what the program printed is not printed twice")
}

func TestTheGatesOwnMarkIsKept(t *testing.T) {
	t.Parallel()
	refused := noCapacity()
	refused.Summary, refused.Billing = "[rehearsed] refused by the gate", "nothing in a rehearsal"
	outcome := outcomeOf(t, []eventlog.Event{{Refusal: refused}}, refused.Error())
	assert.Equal(t, []string{refused.Error()}, outcome.messages())
}

func TestAnErrorThatIsNotOursIsAFindingToo(t *testing.T) {
	t.Parallel()
	outcome := outcomeOf(t, nil, "creating: boom", "refused [rehearsed] by the gate")
	assert.Equal(t, []report.Finding{
		{Code: "update-refused", Severity: report.Error, Text: "creating: boom"},
		{Code: "update-refused", Severity: report.Error, Text: "refused [rehearsed] by the gate"},
	}, outcome.Findings())
	assert.Equal(t, []string{"[rehearsed] creating: boom", "refused [rehearsed] by the gate"},
		outcome.messages())
	assert.Nil(t, outcome.HourlyUSD)
}

func TestAStepForgetsTheEventsOfTheLastOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, removeEvents(dir), "the first step has none to forget")
	require.NoError(t, eventlog.To(eventsFile(dir)).Append(eventlog.Event{Refusal: noCapacity()}))
	require.NoError(t, removeEvents(dir))
	outcome, err := newOutcome(dir, &engine.Update{})
	require.NoError(t, err)
	assert.Empty(t, outcome.Refusals)
}
