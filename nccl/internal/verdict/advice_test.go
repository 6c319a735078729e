package verdict_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// TestNoWrongAdvice checks that findings about EFA are left out where EFA was not used, and those that
// another finding explains.
func TestNoWrongAdvice(t *testing.T) {
	t.Parallel()
	tcp := func(rank int) []string { return all(boots(rank, "tcp"), joins(rank, 2, "abc"), opens(rank, 2)) }
	oneHost := speaker{"n", 7, 7}.says(all(boots(0, "efa"), joins(0, 2, "abc"), joins(1, 2, "abc"), rings(0, 2), rings(1, 2))...)
	gin := "node-0:100:100 [0] ncclResult_t nccl_ofi_gin_init(void**):52 NCCL WARN NET/OFI GIN only supports RDMA transport protocol.\n"
	socket := func(rank int) []string {
		return replaceAll(all(boots(rank, ""), joins(rank, 2, "abc"), rings(rank, 2)), "Libfabric", "Socket")
	}
	tests := []struct {
		name  string
		logs  []string
		want  report.Verdict
		never []string
	}{
		{"a run over tcp that hangs", each(2, tcp), report.NotEFA, []string{"security group", "gdr-absent"}},
		{"one host", []string{oneHost}, report.Inconclusive, []string{"no-traffic", "hosts-share-name"}},
		{"GIN is not used", []string{of(0).says(whole(0, 2)...) + gin, of(1).says(whole(1, 2)...)}, report.EFA, []string{"unexplained"}},
		{"sockets, each line twice", each(2, func(rank int) []string {
			return all(socket(rank), []string{"Using network Socket"})
		}), report.NotEFA, []string{"attempt-failed"}},
		{"two networks", []string{of(0).says(whole(0, 2)...), of(1).says(socket(1)...)}, report.Mixed, []string{"1 ranks"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := judged(t, tt.logs)
			assert.Equal(t, tt.want, got.Verdict, codesOf(got))
			var text strings.Builder
			for _, f := range got.Findings {
				text.WriteString(f.Code + " " + f.Cause + " " + f.Next + "\n")
			}
			for _, s := range tt.never {
				assert.NotContains(t, text.String(), s)
			}
		})
	}
}

func replaceAll(lines []string, from, to string) []string {
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], from, to)
	}
	return lines
}
