package evidence

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is the evidence of one run on a real GPU, as a Collector gives it:
// nccl/testdata/nccl-logs-ray-train/README.md says how it came about.
func recorded(t *testing.T, run string) []File {
	t.Helper()
	var files []File
	root := os.DirFS("../../nccl/testdata/nccl-logs-ray-train/" + run)
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files = append(files, onDisk(t, path.Dir(name), path.Base(name), text))
		return err
	}))
	return files
}

func TestWhatTheTrainingCodeLeftOnAGPU(t *testing.T) {
	t.Parallel()
	tests := []struct {
		run, id, nonce string
		status         rayapi.JobStatus
		want           report.Verdict
		first          finding.Code
		trainAttempt   int
		steps          int
	}{
		{"socket", "gpu-tiny-a1", "5eed00000004", rayapi.Succeeded, report.NotEFA, finding.PluginNotFound, 0, 50},
		{"pinned", "gpu-pinned-a1", "5eed00000006", rayapi.Failed, report.Inconclusive, finding.PluginNotFound, 0, 0},
		{"pinned-restarted", "gpu-restart-a1", "5eed00000007", rayapi.Failed, report.Inconclusive, finding.PluginNotFound, 1, 0},
		{"stopped", "gpu-real-a1", "5eed00000004", rayapi.Stopped, report.NotEFA, finding.PluginNotFound, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.run, func(t *testing.T) {
			t.Parallel()
			files := recorded(t, tt.run)
			got, err := Judge(t.Context(), Run{
				Expected: Expected{SubmissionID: tt.id, Nonce: tt.nonce, WorldSize: 2, Nodes: 2},
				Provider: "efa", Status: tt.status, Files: files,
			})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Report.Verdict)
			require.NotEmpty(t, got.Report.Findings)
			assert.Equal(t, tt.first.String(), got.Report.Findings[0].Code, "the cause comes first")
			for _, finding := range got.Report.Findings {
				assert.NotContains(t, []string{"manifest-invalid", "rank-missing", "nodes-not-spanned", "nccl-log-missing"}, finding.Code,
					"the manifests tie both ranks to their nodes and logs")
			}

			require.Len(t, got.Manifests, 2)
			for rank, manifest := range got.Manifests {
				assert.Equal(t, rank, manifest.Rank)
				assert.Equal(t, tt.trainAttempt, manifest.TrainAttempt, "the last try counts")
				assert.Equal(t, "cuda", manifest.Device)
				i := slices.IndexFunc(files, func(f File) bool { return f.key() == manifest.log() })
				require.GreaterOrEqual(t, i, 0)
				assert.Contains(t, content(t, files[i]), "NCCL version "+*manifest.NCCLVersion+"+cuda",
					"torch names the NCCL that it then loads")
			}
			assert.NotEqual(t, got.Manifests[0].Node, got.Manifests[1].Node)

			if tt.steps == 0 {
				assert.Nil(t, got.Result)
				return
			}
			require.NotNil(t, got.Result)
			assert.Equal(t, tt.steps, got.Result.Steps)
			assert.Equal(t, 2, got.Result.WorldSize)
			assert.Positive(t, *got.Result.StepsPerSecond)
		})
	}
}

func TestARecordedRunIsNoEvidenceForAnother(t *testing.T) {
	t.Parallel()
	files := recorded(t, "socket")
	want := Expected{SubmissionID: "gpu-tiny-a1", Nonce: "5eed00000004", WorldSize: 2, Nodes: 2}
	for name, change := range map[string]func(*Expected, []File){
		"another nonce":      func(e *Expected, _ []File) { e.Nonce = "5eed00000005" },
		"another submission": func(e *Expected, _ []File) { e.SubmissionID = "gpu-tiny-a2" },
		"found on the other node": func(_ *Expected, files []File) {
			for i := range files {
				files[i].Node = strings.Repeat("0", len(files[i].Node))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expected, mine := want, append([]File(nil), files...)
			change(&expected, mine)
			got, err := Judge(t.Context(), Run{Expected: expected, Provider: "efa", Status: rayapi.Succeeded, Files: mine})
			require.NoError(t, err)
			assert.Empty(t, got.Manifests)
			codes := make([]string, 0, len(got.Report.Findings))
			for _, finding := range got.Report.Findings {
				codes = append(codes, finding.Code)
			}
			assert.Contains(t, codes, "rank-missing")
			assert.Equal(t, "manifest-invalid", codes[0], "it explains why the rank is missing")
		})
	}
}
