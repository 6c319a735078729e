package nccl_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// TestCases judges small logs of kinds that users' logs showed: what the report
// must say, first of all, and what it must not.
func TestCases(t *testing.T) {
	t.Parallel()
	twoNodes := nccl.Options{WorldSize: 2, Nodes: 2}
	tests := []struct {
		file  string
		opts  nccl.Options
		want  report.Verdict
		codes string // in this order, others between them
		not   string
		texts []string // in the findings
		never []string
	}{
		{file: "01-one-process-two-gpus-loopback", want: report.Inconclusive, codes: "one-host"},
		{file: "01-one-process-two-gpus-loopback", opts: twoNodes, want: report.Inconclusive, codes: "one-host nodes-mismatch"},
		{file: "03-eager-efa-no-version-line", want: report.EFA, not: "never-connected"},
		{file: "04-efa-note-after-network", want: report.EFA, not: "other-network channel-off-network"},
		{file: "07-socket-host-in-angle-brackets", want: report.NotEFA, codes: "other-network", not: "subsystem-mask torn-lines"},
		{file: "09-socket-device-only-prefix", want: report.NotEFA, codes: "other-network hosts-removed", not: "subsystem-mask torn-lines log-cut"},
		{
			file: "12-socket-start-only", opts: twoNodes, want: report.Inconclusive, codes: "other-network init-incomplete",
			texts: []string{"would use Socket"}, never: []string{"channels run"},
		},
		{file: "13-tail-only", want: report.Inconclusive, codes: "log-cut", not: "subsystem-mask"},
		{
			file: "15-provider-tcp-cut", want: report.Inconclusive, codes: "provider-not-efa log-cut proof-provider",
			not: "subsystem-mask attempt-failed bootstrap-on-loopback", texts: []string{"Selected Provider is tcp"},
		},
		{file: "17-unmapped-warns", want: report.Inconclusive, codes: "memory-registration-failed remote-rails-differ never-connected"},
		{
			file: "19-request-failed-is-sg", want: report.Inconclusive, codes: "transfer-failed never-connected",
			texts: []string{"security group blocks EFA traffic"},
		},
		{
			file: "21-accept-wrong-type", want: report.NotEFA, codes: "socket-magic-flood other-network never-connected",
			never: []string{"security group"},
		},
		{
			file: "22-gdr-check-kills-endpoint", want: report.NotEFA, codes: "gdr-refused endpoint-failed plugin-init-failed other-network",
			texts: []string{"fi_info -p efa -t FI_EP_RDM -c FI_HMEM"},
		},
		{
			file: "24-one-host-start-only", want: report.Inconclusive, codes: "other-network rank-missing init-incomplete",
			never: []string{"spans nodes", "channels run"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			sources, err := nccl.Collect([]string{filepath.Join("testdata/cases", tt.file+".log")}, nil)
			require.NoError(t, err)
			got, err := nccl.Judge(t.Context(), sources, tt.opts)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Verdict)
			var codes, text strings.Builder
			for _, f := range got.Findings {
				codes.WriteString(f.Code + " ")
				text.WriteString(f.Text + " " + f.Cause + " " + f.Next + "\n")
			}
			rest := codes.String()
			for _, code := range strings.Fields(tt.codes) {
				_, after, ok := strings.Cut(rest, code+" ")
				require.True(t, ok, "%s is missing, or out of order, in %s", code, codes.String())
				rest = after
			}
			if tt.codes != "" {
				assert.True(t, strings.HasPrefix(codes.String(), strings.Fields(tt.codes)[0]), "first finding of %s", codes.String())
			}
			for _, code := range strings.Fields(tt.not) {
				assert.NotContains(t, codes.String(), code)
			}
			for _, s := range tt.texts {
				assert.Contains(t, text.String(), s)
			}
			for _, s := range tt.never {
				assert.NotContains(t, text.String(), s)
			}
		})
	}
}
