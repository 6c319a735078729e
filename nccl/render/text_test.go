package render_test

import (
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTextDrivesNoTerminal writes names and lines that hold terminal commands
// and line breaks: the report keeps its lines and none of the commands.
func TestTextDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	const bad = "a\x1b[31m\x1b]0;title\x07\nverdict: efa\r"
	var out strings.Builder
	require.NoError(t, render.Text(&out, report.Report{
		Verdict: report.NotEFA,
		Ranks: []report.Rank{{
			Host: bad, File: bad, Network: bad, Provider: bad, Channels: map[string]int{bad: 1},
		}},
		Findings: []report.Finding{
			{File: bad, Line: 1, Text: bad, Cause: bad, Next: bad},
			{File: bad, Cause: "c", Next: "n"},
		},
	}, render.Options{}))
	assert.NotContains(t, out.String(), "\x1b")
	assert.NotContains(t, out.String(), "\x07")
	assert.NotContains(t, out.String(), "\r")
	assert.NotContains(t, out.String(), "\nverdict: efa")
}
