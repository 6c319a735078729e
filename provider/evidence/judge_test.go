package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/transport"
)

func TestARunWithoutAnyLogIsInconclusive(t *testing.T) {
	t.Parallel()
	got, err := Judge(t.Context(), Run{Expected: Expected{WorldSize: 8, Nodes: 2}, Status: rayapi.Failed})
	require.NoError(t, err, "a script that failed early must be refused with its own words, not as an interruption")
	assert.Equal(t, transport.Inconclusive, got.Report.Verdict)
	assert.NotEmpty(t, got.Report.Findings)
}
