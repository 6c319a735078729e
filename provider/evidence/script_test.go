package evidence

import (
	"encoding/json"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// scriptFiles are what a script of two ranks leaves on two nodes.
func scriptFiles(t *testing.T) []File {
	t.Helper()
	h := newHead(t)
	var files []File
	for _, node := range []string{first, second} {
		for name, text := range h.Files[node] {
			if base := path.Base(name); path.Ext(base) == ".log" {
				files = append(files, onDisk(t, node, "nccl."+base, text))
			}
		}
		files = append(files, nodeFile(t, node, node, nonce))
	}
	return files
}

func nodeFile(t *testing.T, on, names, nonce string) File {
	t.Helper()
	text, err := json.Marshal(nodeManifest{SubmissionID: job, Nonce: nonce, Node: names})
	require.NoError(t, err)
	return onDisk(t, on, "node."+on+".json", text)
}

func TestJudgeAScript(t *testing.T) {
	t.Parallel()
	all := scriptFiles(t)
	keep := func(extension string) []File {
		var files []File
		for _, file := range all {
			if path.Ext(file.Name) == extension {
				files = append(files, file)
			}
		}
		return files
	}
	tests := []struct {
		name    string
		files   []File
		status  rayapi.JobStatus
		nodes   int
		verdict report.Verdict
		// code is that of the first finding of severity error; empty for none.
		code string
	}{
		{"on EFA", all, rayapi.Succeeded, 2, report.EFA, ""},
		{"any number of nodes", all, rayapi.Succeeded, 0, report.EFA, ""},
		{"one log is missing", all[1:], rayapi.Succeeded, 0, report.Inconclusive, "node-missing"},
		{"no NCCL", keep(".json"), rayapi.Succeeded, 0, report.Inconclusive, "nccl-unused"},
		{"no Ray worker", nil, rayapi.Succeeded, 0, report.Inconclusive, "no-ray-workers"},
		{"failed at once", nil, rayapi.Failed, 0, report.Inconclusive, "job-failed-early"},
		{"a manifest of another run", append(keep(".log"), nodeFile(t, first, first, "other")),
			rayapi.Succeeded, 2, report.Inconclusive, "manifest-invalid"},
		{"a shared log folder", append(keep(".log"), nodeFile(t, second, first, nonce)),
			rayapi.Succeeded, 2, report.Inconclusive, "manifest-invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Judge(t.Context(), Run{
				Expected: Expected{SubmissionID: job, Nonce: nonce, Nodes: test.nodes}, Script: true,
				Again: "raytrain submit", Provider: "efa", Status: test.status, Files: test.files,
			})
			require.NoError(t, err)
			assert.Equal(t, test.verdict, got.Report.Verdict)
			code := ""
			if len(got.Report.Findings) > 0 && got.Report.Findings[0].Severity == report.Error {
				code = got.Report.Findings[0].Code
			}
			assert.Equal(t, test.code, code)
			for _, finding := range got.Report.Findings {
				assert.NotContains(t, finding.Next, "pulumi up")
			}
			if test.verdict == report.EFA {
				require.Len(t, got.Report.Ranks, 2)
				assert.ElementsMatch(t, []string{first, second}, []string{got.Report.Ranks[0].Node, got.Report.Ranks[1].Node})
			}
		})
	}
}
