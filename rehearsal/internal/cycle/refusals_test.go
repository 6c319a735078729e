package cycle

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/internal/diagnosis"
)

func TestRefusalFinding(t *testing.T) {
	t.Parallel()
	explained := diagnosis.Explain(diagnosis.Failure{
		Type: "aws:eks/nodeGroup:NodeGroup", Name: "gpu", Operation: "create", Error: "InsufficientInstanceCapacity",
	}, diagnosis.Stack{Region: "us-east-2", Zone: "us-east-2a", HourlyUSD: 9.55}).Error()
	tests := []struct {
		name, in, code, cause, next string
	}{
		{"an explanation", explained, "no-capacity", "AWS has no instances left in us-east-2a at the moment; the quota is not the reason",
			"pulumi up later: no other zone of us-east-2 offers these types; pulumi destroy until then, so that nothing costs money"},
		{"a refusal of the settings", "checking quota X: too low; next: aws ask\nbilling:  nothing", "update-refused", "checking quota X: too low", "aws ask"},
		{"a provider's own words", "creating: boom", "update-refused", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, Finding{Code: test.code, Severity: "error", Text: test.in, Cause: test.cause, Next: test.next}, refusalFinding(test.in))
		})
	}
}

func TestLabelled(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "[rehearsed] boom", labelled("boom"))
	assert.Equal(t, "[rehearsed] refused\nbilling:  nothing in a rehearsal; on AWS: $9", labelled("refused\nbilling:  $9"))
	assert.Equal(t, "error [rehearsed] refused\nbilling:  nothing", labelled("error [rehearsed] refused\nbilling:  nothing"))
}
